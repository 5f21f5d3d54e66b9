// Frames of the empty scene.
#include "scene.h"

#define TOP_ROWS (3.f / 90)  // the frame starts this far above the picture

static Colour sky_of_row(const View *v, float y) {
  int whole = v->setting == UNDERWATER || v->setting == SPACE;
  float k = whole ? unit(y) : smooth_step(0, 1, unit(y / (v->horizon + .02f)));
  return mix(v->sky_top, v->sky_bottom, k);
}

static uint8_t byte(float x) { return (uint8_t)(unit(x) * 255.f + .5f); }

static void render_frame(const float *p, float seconds, float rows_per_height, const int *box, uint8_t *out) {
  int origin_x = box[0], origin_y = box[1], width = box[2], height = box[3];
  View v = make_view(p, seconds, 1.f / rows_per_height);
  build_landscape(&v, origin_x, width);
  for (int row = 0; row < height; row++) {
    float ys = (origin_y + row + .5f) * v.pixel - TOP_ROWS;
    float y = (ys - v.centre_y) / v.zoom + v.centre_y;
    Colour sky = sky_of_row(&v, y);
    for (int column = 0; column < width; column++) {
      float xs = (origin_x + column + .5f) * v.pixel;
      float x = (xs - v.centre_x) / v.zoom + v.centre_x;
      Colour c = paint_heaven(&v, p, sky, xs, ys);
      c = paint_light_rays(&v, c, x, ys, y);
      c = paint_clouds(&v, c, x, y);
      c = paint_water(&v, p, c, xs, x, y);
      c = paint_landscape(&v, c, column, x, y);
      c = paint_precipitation(&v, c, xs, ys);
      *out++ = byte(c.r);
      *out++ = byte(c.g);
      *out++ = byte(c.b);
    }
  }
}

// Renders count frames of a box of pixels to RGB bytes [count, height, width, 3].
void render_frames(const float *p, const float *seconds, int count, float rows_per_height, int x, int y,
                   int width, int height, uint8_t *out) {
  const int box[4] = {x, y, width, height};
  for (int k = 0; k < count; k++)
    render_frame(p, seconds[k], rows_per_height, box, out + (long)k * width * height * 3);
}
