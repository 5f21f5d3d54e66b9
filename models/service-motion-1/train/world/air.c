// Sun, moon, stars, planet, clouds, rain and snow.
#include "scene.h"

#define STAR_GRID .148148f
#define RAIN_GRID .1777778f

float sun_visibility(const View *v) {
  if (v->setting == SPACE || v->setting == UNDERWATER || v->weather == RAIN) return 0;
  return v->weather == SNOW || v->weather == FOG ? .45f : 1;
}

void sun_place(const View *v, float offset, float *x, float *y, float *radius) {
  const float place_x[4] = {.42f, 1.35f, 1.12f, 1.38f};
  const float place_y[4] = {v->horizon - .10f, .17f, v->horizon - .07f, .19f};
  const float size[4] = {.08f, .08f, .11f, .065f};
  *x = (place_x[v->time] + offset - v->centre_x) * v->zoom + v->centre_x - v->pan * .1f * v->zoom;
  *y = (place_y[v->time] - v->centre_y) * v->zoom + v->centre_y;
  *radius = size[v->time] * v->zoom;
}

Colour sun_colour(int time) {
  const Colour colours[4] = {{1.f, .88f, .66f}, {1.f, .97f, .75f}, {1.f, .80f, .35f}, {.93f, .94f, .86f}};
  return colours[time];
}

static Colour paint_sun(const View *v, float offset, Colour c, float xs, float ys) {
  float visible = sun_visibility(v), x, y, radius;
  sun_place(v, offset, &x, &y, &radius);
  float dx = xs - x, dy = ys - y, squared = dx * dx + dy * dy;
  if (visible <= 0 || squared >= .6f) return c;
  float d = sqrtf(squared), fall = d / (radius * 1.2f);
  Colour sun = sun_colour(v->time);
  float glow = (v->time == NIGHT ? .25f : .55f) * visible / (1 + fall * fall);
  c = mix(c, sun, glow * unit(1.1f - d * 1.4f));
  c = mix(c, sun, unit(.5f + (radius - d) / v->pixel) * visible);
  if (v->time != NIGHT) return c;
  float crater = circle(xs, ys, x + radius * .3f, y - radius * .2f, radius * .25f);
  return mix(c, colour(.80f, .81f, .76f), unit(.5f - crater / v->pixel) * visible);
}

static Colour paint_stars(const View *v, Colour c, float xs, float ys) {
  int ix = (int)floorf(xs / STAR_GRID), iy = (int)floorf(ys / STAR_GRID);
  float x = (ix + .2f + .6f * hashed(ix * 31 + iy * 17 + 5)) * STAR_GRID;
  float y = (iy + .2f + .6f * hashed(ix * 13 + iy * 57 + 9)) * STAR_GRID;
  float d = circle(xs, ys, x, y, .004f + .005f * hashed(ix * 3 + iy * 71));
  return mix(c, colour(1, 1, .92f), unit(.5f - d / fmaxf(v->pixel, .008f)) * .95f);
}

static Colour paint_planet(const View *v, Colour c, float xs, float ys) {
  float z = v->zoom, w = v->pixel, r = .17f * z;
  float dx = xs - ((.42f - v->centre_x) * z + v->centre_x - v->pan * .3f * z);
  float dy = ys - ((.34f - v->centre_y) * z + v->centre_y);
  float tilted_x = dx * .95f + dy * .31f, tilted_y = dy * .95f - dx * .31f;
  float edge = ellipse(tilted_x, tilted_y, 0, 0, r * 1.75f, r * .36f);
  float ring = fabsf(edge + .02f * z) - .02f * z, d = sqrtf(dx * dx + dy * dy) - r;
  Colour body = mix(colour(.85f, .55f, .35f), colour(.55f, .30f, .40f), unit(.5f + dy / r * .5f));
  body = mix(body, colour(.95f, .78f, .55f), .5f * unit(.5f + (.03f * z - fabsf(dy + .04f * z)) / w));
  c = mix(c, body, unit(.5f - d / w));
  float in_front = tilted_y > 0 || d > 0 ? 1.f : 0.f;
  return mix(c, colour(.85f, .78f, .62f), unit(.5f - ring / w) * in_front * .9f);
}

Colour paint_heaven(const View *v, const float *p, Colour c, float xs, float ys) {
  c = paint_sun(v, p[P_SUN_X], c, xs, ys);
  int stars = (v->time == NIGHT && v->weather == CLEAR && v->setting != UNDERWATER) || v->setting == SPACE;
  if (stars) c = paint_stars(v, c, xs, ys);
  return v->setting == SPACE ? paint_planet(v, c, xs, ys) : c;
}

static Colour cloud_colour(const View *v) {
  Colour c = mix(v->ambient, white(), v->time == NIGHT ? .05f : .35f);
  if (v->weather == RAIN) c = scale(c, .6f);
  return v->time == SUNSET ? times(c, colour(1, .82f, .80f)) : c;
}

Colour paint_clouds(const View *v, Colour c, float x, float y) {
  if (v->setting == SPACE || v->setting == UNDERWATER) return c;
  Colour cloud = cloud_colour(v);
  for (int k = 0; k < 3; k++) {
    float cx = (k * .66f + v->phase_1 * .5f) + .02f * v->seconds;
    float cy = .13f + .10f * hashed(k * 3 + 1) + (k == 1 ? .06f : 0);
    cx = cx - floorf(cx / 2.0f) * 2.0f - .1f;
    float dx = x + v->pan * .2f - cx, dy = y - cy;
    if (fabsf(dx) >= .24f || fabsf(dy) >= .12f) continue;
    float d = fminf(ellipse(dx, dy, 0, 0, .17f, .035f), circle(dx, dy, -.04f, -.02f, .05f));
    d = fminf(d, circle(dx, dy, .05f, -.01f, .04f));
    c = mix(c, cloud, unit(.5f - d * v->zoom / v->pixel) * (v->time == NIGHT ? .35f : .85f));
  }
  return c;
}

// Both patterns repeat over 16 small pixels and half a second, which the background codec likes.
static Colour paint_rain(const View *v, Colour c, float xs, float ys, float phase) {
  float y = ys / RAIN_GRID - 4 * phase, x = (xs + ys * .125f) / RAIN_GRID, a = 0;
  for (int k = 0; k < 3; k++) {
    float fx = x - (.17f + .31f * k), fy = y - (.2f + .37f * k);
    fx -= floorf(fx + .5f);
    fy -= floorf(fy + .5f);
    float d = fmaxf(fabsf(fx) - .018f, fabsf(fy) - .16f) * RAIN_GRID;
    a = fmaxf(a, unit(.5f - d / fmaxf(v->pixel, .002f)));
  }
  return mix(c, colour(.85f, .90f, .97f), a * .42f);
}

static Colour paint_snow(const View *v, Colour c, float xs, float ys, float phase) {
  float a = 0;
  for (int k = 0; k < 3; k++) {
    float swing = .05f * sinf(TURN * phase + k * 2);
    float fx = xs / RAIN_GRID - (.2f + .33f * k + swing), fy = ys / RAIN_GRID - phase - (.15f + .41f * k);
    fx -= floorf(fx + .5f);
    fy -= floorf(fy + .5f);
    float d = (sqrtf(fx * fx + fy * fy) - (.035f + .012f * k)) * RAIN_GRID;
    a = fmaxf(a, unit(.5f - d / fmaxf(v->pixel, .003f)));
  }
  return mix(c, white(), a * .9f);
}

Colour paint_precipitation(const View *v, Colour c, float xs, float ys) {
  if (v->setting == SPACE || v->setting == UNDERWATER) return c;
  float phase = v->seconds * 2 - floorf(v->seconds * 2);
  if (v->weather == RAIN) return paint_rain(v, c, xs, ys, phase);
  return v->weather == SNOW ? paint_snow(v, c, xs, ys, phase) : c;
}
