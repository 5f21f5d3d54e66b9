// The subject alone, lit as its scene lights it.
#include "scene.h"
#include "subject.h"

#define EXTENT 2.9f  // side of the sprite in subject half sizes
#define DROP .1f

static const Colour AMBIENT[4] = {{1.f, .84f, .84f}, {1, 1, 1}, {1.f, .72f, .58f}, {.32f, .37f, .58f}};
static const Colour SUBJECT_AMBIENT[4] = {{1.f, .92f, .92f}, {1, 1, 1}, {1.f, .86f, .78f}, {.66f, .68f, .82f}};

static Colour subject_light(int setting, int time) {
  Colour light = SUBJECT_AMBIENT[time];
  if (setting == SPACE) light = colour(.9f, .9f, .95f);
  if (setting == UNDERWATER) light = times(mix(light, white(), .4f), colour(.86f, .95f, 1.f));
  return light;
}

// out: premultiplied RGBA planes [4, side, side] in 0..1.
void draw_sprite(int subject, const float *main_colour, int setting, int time, int foggy, float t, int side,
                 float *out) {
  int area = side * side;
  Brush brush = {.sharpness = side / EXTENT, .light = subject_light(setting, time)};
  Colour fog = times(colour(.82f, .84f, .86f), mix(AMBIENT[time], white(), .25f));
  Colour main = colour(main_colour[0], main_colour[1], main_colour[2]);
  for (int row = 0; row < side; row++)
    for (int column = 0; column < side; column++) {
      brush.x = ((column + .5f) / side - .5f) * EXTENT;
      brush.y = ((row + .5f) / side - .5f) * EXTENT + DROP;
      brush.colour = colour(0, 0, 0);
      brush.alpha = 0;
      draw_subject(&brush, subject, main, t, time == NIGHT);
      if (foggy) brush.colour = mix(brush.colour, scale(fog, brush.alpha), .22f);
      float *o = out + row * side + column;
      o[0] = unit(brush.colour.r);
      o[area] = unit(brush.colour.g);
      o[2 * area] = unit(brush.colour.b);
      o[3 * area] = brush.alpha;
    }
}
