// Sea with waves and the reflection of the sun; light under water.
#include "scene.h"

static Colour paint_reflection(const View *v, const float *p, Colour water, float xs, float y, float depth) {
  float visible = sun_visibility(v), x, sun_y, radius;
  if (visible <= 0) return water;
  sun_place(v, p[P_SUN_X], &x, &sun_y, &radius);
  float width = .05f + .25f * depth;
  float d = fabsf(xs - x + .012f * sinf(y * 60 + v->seconds * PI));
  float strength = v->time == NIGHT ? .35f : v->time == NOON ? .18f : .6f;
  return mix(water, sun_colour(v->time), visible * strength * (1 - smooth_step(width * .3f, width, d)));
}

static Colour paint_waves(const View *v, Colour water, float x, float y, float surface) {
  Colour foam = times(colour(.9f, .97f, 1.f), mix(v->ambient, white(), .15f));
  for (int row = 0; row < 5; row++) {
    float near = (row + .6f) / 5.f, wave_y = surface + (1 - surface) * near * near;
    float height = .006f + .012f * near, direction = row & 1 ? 1 : -1;
    float angle = (x + v->pan * (.4f + .6f * near)) * (16 - 8 * near) + row * 2.1f + v->phase_2 * 6 +
                  direction * 1.5707963f * v->seconds;
    float d = fabsf(y - wave_y - height * sinf(angle)) - (.003f + .006f * near);
    float visible = unit(.5f - d * v->zoom / v->pixel) * unit(.5f + 1.2f * sinf(angle * .5f + row));
    water = mix(water, mix(water, foam, .55f), visible);
  }
  return water;
}

Colour paint_water(const View *v, const float *p, Colour c, float xs, float x, float y) {
  if (v->setting != OCEAN && v->setting != BEACH) return c;
  float surface = v->setting == BEACH ? v->horizon - .02f : v->horizon;
  float end = v->setting == BEACH ? v->horizon + .17f : 9;
  if (y > surface - v->pixel && y < end + .1f) {
    float depth = unit((y - surface) / (1 - surface));
    Colour water = times(mix(colour(.30f, .62f, .80f), colour(.05f, .28f, .52f), depth), v->ambient);
    water = mix(water, v->sky_bottom, .28f * (1 - depth));
    water = paint_reflection(v, p, water, xs, y, depth);
    water = paint_waves(v, water, x, y, surface);
    c = mix(c, water, unit(.5f + (y - surface) * v->zoom / v->pixel));
  }
  return v->weather == FOG ? mix(c, v->fog, .45f * unit(1 - (y - v->horizon) * 1.5f)) : c;
}

Colour paint_light_rays(const View *v, Colour c, float x, float ys, float y) {
  if (v->setting != UNDERWATER) return c;
  float t = v->seconds;
  float ray = sinf(x * 7.f + ys * 2.2f - v->pan * 4 + .9f * t + v->phase_1 * 6) +
              sinf(x * 11.f + ys * 3.1f - v->pan * 6 - .6f * t);
  return mix(c, colour(.75f, .95f, 1.f), unit(ray * .5f) * .28f * unit(1 - y * 1.1f));
}
