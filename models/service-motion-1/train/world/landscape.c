// Hills, mountains, buildings, trees: up to three layers, each with its own parallax.
#include "scene.h"

#define MAX_WIDTH 2048
#define MAX_LAYERS 3
enum { HILLS, PEAKS, BUILDINGS, FIRS };

typedef struct {
  int kind;
  float parallax, base, height, frequency, phase, spacing;
  Colour top, bottom;
  float fade;  // how fast top turns to bottom, per frame height
} LayerPlan;

typedef struct {
  LayerPlan plan;
  float line[MAX_WIDTH];       // height of the skyline at each column
  float steepness[MAX_WIDTH];  // length of the skyline per column
  float coverage[MAX_WIDTH];   // 0 between buildings
  int id[MAX_WIDTH];           // of the building
} Layer;

static __thread Layer layers[MAX_LAYERS];
static __thread int layer_count;

static float triangle_wave(float x) {
  x = x - floorf(x);
  return x < .5f ? 4 * x - 1 : 3 - 4 * x;
}

static float ridge(float k) { return triangle_wave(k) * .7f + triangle_wave(2.3f * k + .3f) * .3f; }

static void shape_column(Layer *layer, int i, float x, float column_width) {
  const LayerPlan *p = &layer->plan;
  float slope = 0;
  layer->coverage[i] = 1;
  layer->id[i] = 0;
  layer->line[i] = p->base;
  if (p->kind == HILLS) {
    float a = p->frequency * x + p->phase, b = 2.3f * p->frequency * x + 1.7f * p->phase;
    layer->line[i] = p->base - p->height * (sinf(a) + .4f * sinf(b));
    slope = -p->height * (cosf(a) + .92f * cosf(b));
  } else if (p->kind == PEAKS) {
    float k = p->frequency * x + p->phase, step = 1e-3f, here = ridge(k);
    layer->line[i] = p->base - p->height * here;
    slope = -p->height * (ridge(k + step * p->frequency) - here) / step;
  } else {
    float k = x / p->spacing + p->phase;
    int cell = (int)floorf(k);
    if (p->kind == BUILDINGS) {
      layer->line[i] = p->base - p->height * (.25f + .75f * hashed(cell * 7 + 3));
      layer->id[i] = cell;
      float d = (.5f - fabsf(k - cell - .5f)) * p->spacing - .004f;
      layer->coverage[i] = unit(.5f + d / column_width);
    } else {
      float tall = p->height * (.6f + .4f * hashed(cell * 5 + 1));
      float inward = 1 - fabsf(k - cell - .5f) * 2, step = inward * 3;
      layer->line[i] = p->base - tall * inward * (.85f + .15f * (step - floorf(step)));
      slope = tall * 2 / p->spacing;
    }
  }
  layer->steepness[i] = sqrtf(1 + slope * slope);
}

static void add(const View *v, int origin_x, int width, LayerPlan plan) {
  Layer *layer = &layers[layer_count++];
  plan.top = times(plan.top, v->ambient);
  plan.bottom = times(plan.bottom, v->ambient);
  layer->plan = plan;
  float column_width = 0, previous = 0;
  for (int pass = 0; pass < 2; pass++)
    for (int i = 0; i < (pass ? width : 2); i++) {
      float xs = (origin_x + i + .5f) * v->pixel;
      float x = (xs - v->centre_x) / v->zoom + v->centre_x + v->pan * plan.parallax;
      if (pass) shape_column(layer, i, x, column_width);
      else if (i) column_width = x - previous;
      previous = x;
    }
}

// Green that turns white when snow falls.
static Colour green(const View *v, float r, float g, float b) {
  return mix(colour(r, g, b), colour(.95f, .97f, 1.f), v->weather == SNOW ? .65f : 0);
}

int build_landscape(const View *v, int x, int w) {
  float h = v->horizon, a = v->phase_1, b = v->phase_2, t = 6.28f;
  Colour far, near;
  layer_count = 0;
  switch (v->setting) {
    case MEADOW:
      add(v, x, w, (LayerPlan){HILLS, .4f, h + .03f, .06f, 3.1f, a * t, 0, green(v, .45f, .70f, .42f), green(v, .38f, .62f, .36f), 2});
      add(v, x, w, (LayerPlan){HILLS, 1, h + .17f, .035f, 2.2f, b * t, 0, green(v, .36f, .70f, .25f), green(v, .20f, .50f, .16f), 2.2f});
      break;
    case DESERT:
      add(v, x, w, (LayerPlan){HILLS, .4f, h + .04f, .07f, 2.4f, a * t, 0, {.90f, .68f, .42f}, {.82f, .58f, .34f}, 2.5f});
      add(v, x, w, (LayerPlan){HILLS, 1, h + .18f, .05f, 1.7f, b * t, 0, {.96f, .78f, .48f}, {.82f, .60f, .32f}, 2.2f});
      break;
    case MOUNTAINS:
      add(v, x, w, (LayerPlan){PEAKS, .3f, h - .08f, .24f, 1.15f, a, 0, {.45f, .47f, .58f}, {.38f, .42f, .52f}, 2});
      add(v, x, w, (LayerPlan){HILLS, 1, h + .16f, .04f, 2.6f, b * t, 0, green(v, .30f, .55f, .30f), green(v, .16f, .38f, .20f), 2});
      break;
    case CITY:
      far = colour(.50f, .55f, .66f);
      near = colour(.34f, .37f, .47f);
      add(v, x, w, (LayerPlan){BUILDINGS, .3f, h + .12f, .42f, 0, a * 7, .13f, far, far, 1});
      add(v, x, w, (LayerPlan){BUILDINGS, .6f, h + .14f, .30f, 0, b * 9, .19f, near, near, 1});
      add(v, x, w, (LayerPlan){HILLS, 1, h + .14f, 0, 0, 0, 0, {.30f, .30f, .33f}, {.24f, .24f, .27f}, 2});
      break;
    case FOREST:
      add(v, x, w, (LayerPlan){FIRS, .4f, h + .14f, .34f, 0, a * 5, .15f, green(v, .20f, .42f, .32f), green(v, .16f, .36f, .28f), 2});
      add(v, x, w, (LayerPlan){FIRS, .7f, h + .19f, .36f, 0, b * 6, .24f, green(v, .12f, .32f, .20f), green(v, .10f, .28f, .17f), 2});
      add(v, x, w, (LayerPlan){HILLS, 1, h + .17f, .015f, 3, a * t, 0, green(v, .26f, .46f, .20f), green(v, .14f, .30f, .12f), 2});
      break;
    case SNOWFIELD:
      near = colour(.22f, .40f, .38f);
      add(v, x, w, (LayerPlan){HILLS, .4f, h + .02f, .07f, 2.7f, a * t, 0, {.82f, .88f, .96f}, {.76f, .83f, .93f}, 2});
      add(v, x, w, (LayerPlan){FIRS, .6f, h + .14f, .20f, 0, b * 6, .37f, near, near, 1});
      add(v, x, w, (LayerPlan){HILLS, 1, h + .14f, .035f, 2.1f, b * t, 0, {.97f, .98f, 1.f}, {.82f, .88f, .96f}, 2});
      break;
    case BEACH:
      add(v, x, w, (LayerPlan){HILLS, 1, h + .17f, .012f, 3.f, b * t + .8f * v->seconds, 0, {.95f, .85f, .62f}, {.88f, .74f, .48f}, 2});
      break;
    case SKY:
      add(v, x, w, (LayerPlan){HILLS, .5f, .84f, .05f, 5.2f, a * t, 0, {.97f, .97f, 1.f}, {.86f, .89f, .97f}, 2});
      add(v, x, w, (LayerPlan){HILLS, 1, .93f, .04f, 6.7f, b * t, 0, {1.f, 1.f, 1.f}, {.90f, .92f, .98f}, 2});
      break;
    case UNDERWATER:
      add(v, x, w, (LayerPlan){HILLS, 1, .88f, .025f, 3.3f, b * t, 0, {.80f, .72f, .50f}, {.62f, .55f, .40f}, 2});
      break;
  }
  return layer_count;
}

static Colour paint_snow_cap(const View *v, Colour c, float x, float y) {
  float line = v->horizon - .20f + (.10f + .03f * sinf(40 * (x + v->pan * .3f))) * .3f;
  float cap = unit(.5f + (line - y) * v->zoom / v->pixel);
  return mix(c, times(colour(.95f, .97f, 1.f), v->ambient), cap * .92f);
}

static Colour paint_windows(const View *v, const Layer *layer, Colour c, int i, float x, float y, float below) {
  const LayerPlan *p = &layer->plan;
  if (below <= .02f || y >= v->horizon + .12f) return c;
  int columns = layer == layers ? 3 : 4;
  float k = (x + v->pan * p->parallax) / p->spacing + p->phase;
  float u = (k - floorf(k)) * columns, row = below / .055f, sharp = v->zoom / v->pixel;
  float across = (.24f - fabsf(u - floorf(u) - .5f)) * (p->spacing / columns);
  float down = (.26f - fabsf(row - floorf(row) - .5f)) * .055f;
  float visible = fminf(unit(.5f + across * sharp), unit(.5f + down * sharp));
  int lit = hashed(layer->id[i] * 11 + (int)floorf(u) * 5 + (int)floorf(row) * 3) > .4f;
  Colour window = times(colour(.70f, .82f, .92f), v->ambient);
  if (v->time == NIGHT || v->time == SUNSET) window = lit ? colour(1.f, .86f, .45f) : scale(c, .8f);
  return mix(c, window, visible * .85f);
}

static Colour paint_road_marks(const View *v, Colour c, float x, float y) {
  float k = (x + v->pan) / .25f;
  k -= floorf(k);
  float d = fmaxf(fabsf(y - (v->horizon + .30f)) - .008f, (fabsf(k - .5f) - .28f) * .25f);
  return mix(c, times(colour(.95f, .92f, .75f), v->ambient), unit(.5f - d * v->zoom / v->pixel) * .9f);
}

Colour paint_landscape(const View *v, Colour c, int i, float x, float y) {
  for (int l = 0; l < layer_count; l++) {
    const Layer *layer = &layers[l];
    float below = y - layer->line[i];
    float visible = unit(.5f + below * v->zoom / (v->pixel * layer->steepness[i])) * layer->coverage[i];
    if (visible <= 0) continue;
    Colour own = mix(layer->plan.top, layer->plan.bottom, unit(below * layer->plan.fade));
    if (v->setting == MOUNTAINS && l == 0) own = paint_snow_cap(v, own, x, y);
    if (layer->plan.kind == BUILDINGS) own = paint_windows(v, layer, own, i, x, y, below);
    if (v->setting == CITY && l == 2) own = paint_road_marks(v, own, x, y);
    int nearest = l == layer_count - 1 || layer_count == 1;
    if (v->weather == FOG) own = mix(own, v->fog, nearest ? .25f : .62f);
    c = mix(c, own, visible);
  }
  return c;
}
