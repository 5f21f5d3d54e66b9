// The twelve subjects, each a few shapes painted one over the other.
#include "subject.h"

typedef struct {
  Colour main, dark, light, accent, white, black, brown, glass;
  float flap;  // -1..1, once a second
  float seconds;
  int night;
} Paint;

static float box(float x, float y, float cx, float cy, float half_x, float half_y, float round) {
  float dx = fabsf(x - cx) - half_x + round, dy = fabsf(y - cy) - half_y + round;
  float outer_x = fmaxf(dx, 0), outer_y = fmaxf(dy, 0);
  return sqrtf(outer_x * outer_x + outer_y * outer_y) + fminf(fmaxf(dx, dy), 0) - round;
}

// Signed distance to the line from a to b.
static float side(float x, float y, float ax, float ay, float bx, float by) {
  float ex = bx - ax, ey = by - ay;
  float inverse = 1.f / sqrtf(ex * ex + ey * ey + 1e-9f);
  return ((x - ax) * ey - (y - ay) * ex) * inverse;
}

static float triangle(float x, float y, float ax, float ay, float bx, float by, float cx, float cy) {
  float turn = ((bx - ax) * (cy - ay) - (by - ay) * (cx - ax)) > 0 ? 1.f : -1.f;
  float first = fmaxf(turn * side(x, y, ax, ay, bx, by), turn * side(x, y, bx, by, cx, cy));
  return fmaxf(first, turn * side(x, y, cx, cy, ax, ay));
}

static float line(float x, float y, float ax, float ay, float bx, float by, float radius) {
  float px = x - ax, py = y - ay, ex = bx - ax, ey = by - ay;
  float k = unit((px * ex + py * ey) / (ex * ex + ey * ey));
  px -= ex * k;
  py -= ey * k;
  return sqrtf(px * px + py * py) - radius;
}

static void put(Brush *b, float distance, Colour c) {
  float k = unit(.5f - distance * b->sharpness);
  if (k <= 0) return;
  b->colour = mix(b->colour, times(c, b->light), k);
  b->alpha = b->alpha + (1 - b->alpha) * k;
}

static void draw_ball(Brush *b, const Paint *p, float x, float y) {
  float d = circle(x, y, 0, 0, .8f);
  put(b, d, p->main);
  put(b, fmaxf(d, fabsf(y) - .14f), p->accent);
  put(b, fmaxf(d, circle(x, y, -.75f, -.75f, .55f)), p->light);
}

static void draw_boat(Brush *b, const Paint *p, float x, float y) {
  put(b, line(x, y, 0, -1.15f, 0, .25f, .05f), p->brown);
  put(b, triangle(x, y, .09f, -1.1f, .09f, .12f, .85f, .12f), p->white);
  put(b, triangle(x, y, -.09f, -.85f, -.09f, .12f, -.65f, .12f), p->light);
  float ends = fmaxf(side(x, y, 1.15f, .25f, .7f, .72f), side(x, y, -.7f, .72f, -1.15f, .25f));
  put(b, fmaxf(fmaxf(y - .72f, .25f - y), ends), p->main);
  put(b, box(x, y, 0, .31f, 1.12f, .06f, 0), p->dark);
}

static void draw_bird(Brush *b, const Paint *p, float x, float y) {
  float wing = p->flap * .75f;
  put(b, triangle(x, y, -.55f, 0, -1.15f, -.22f, -1.15f, .22f), p->dark);
  put(b, ellipse(x, y, 0, 0, .75f, .33f), p->main);
  put(b, circle(x, y, .65f, -.18f, .27f), p->main);
  put(b, triangle(x, y, .85f, -.28f, .85f, -.05f, 1.2f, -.13f), colour(1, .65f, .1f));
  put(b, circle(x, y, .73f, -.23f, .06f), p->black);
  put(b, triangle(x, y, .35f, 0, -.4f, 0, -.25f, -1.0f * wing - .1f), p->dark);
}

static void draw_balloon(Brush *b, const Paint *p, float x, float y) {
  put(b, line(x, y, -.35f, .3f, -.16f, .85f, .025f), p->black);
  put(b, line(x, y, .35f, .3f, .16f, .85f, .025f), p->black);
  put(b, box(x, y, 0, .98f, .2f, .16f, .04f), colour(.55f, .33f, .15f));
  float d = fminf(circle(x, y, 0, -.35f, .8f), triangle(x, y, -.72f, 0.f, .72f, 0.f, 0, .78f));
  d = fmaxf(d, y - .55f);
  put(b, d, p->main);
  float half = sqrtf(fmaxf(.64f - (y + .35f) * (y + .35f), .02f));
  float stripe = fabsf(fabsf(x) / half - .5f) * half - .16f * half;
  put(b, fmaxf(d, stripe), p->accent);
}

static void draw_car(Brush *b, const Paint *p, float x, float y) {
  put(b, box(x, y, -.1f, -.25f, .62f, .38f, .25f), p->main);
  put(b, box(x, y, -.38f, -.27f, .24f, .2f, .06f), colour(.65f, .85f, .95f));
  put(b, box(x, y, .2f, -.27f, .24f, .2f, .06f), colour(.65f, .85f, .95f));
  put(b, box(x, y, 0, .18f, 1.15f, .28f, .15f), p->main);
  put(b, box(x, y, 1.05f, .12f, .09f, .08f, .03f), colour(1, .95f, .6f));
  for (int end = -1; end < 2; end += 2) {
    put(b, circle(x, y, .62f * end, .45f, .28f), p->black);
    put(b, circle(x, y, .62f * end, .45f, .12f), colour(.75f, .75f, .78f));
  }
}

static void draw_fish(Brush *b, const Paint *p, float x, float y) {
  float wave = p->flap * .18f, body = ellipse(x, y, .1f, 0, .85f, .5f);
  put(b, triangle(x, y, -.55f, 0, -1.15f, -.45f + wave, -1.15f, .45f + wave), p->dark);
  put(b, triangle(x, y, .2f, -.35f, -.4f, -.35f, -.3f, -.8f), p->dark);
  put(b, body, p->main);
  put(b, fmaxf(body, fabsf(x - .1f) - .09f), p->accent);
  put(b, circle(x, y, .58f, -.12f, .12f), p->white);
  put(b, circle(x, y, .6f, -.12f, .06f), p->black);
}

static void draw_tree(Brush *b, const Paint *p, float x, float y) {
  put(b, box(x, y, 0, .6f, .13f, .45f, .02f), colour(.42f, .27f, .15f));
  put(b, circle(x, y, -.42f, -.05f, .45f), p->dark);
  put(b, circle(x, y, .42f, -.05f, .45f), p->dark);
  put(b, circle(x, y, 0, -.45f, .6f), p->main);
  put(b, circle(x, y, 0, .05f, .42f), p->main);
}

static void draw_house(Brush *b, const Paint *p, float x, float y) {
  put(b, box(x, y, .45f, -.65f, .12f, .3f, 0), colour(.5f, .3f, .25f));
  put(b, box(x, y, 0, .4f, .8f, .58f, 0), p->main);
  put(b, triangle(x, y, -1.05f, -.15f, 1.05f, -.15f, 0, -1.0f), colour(.55f, .22f, .18f));
  put(b, box(x, y, 0, .68f, .17f, .3f, 0), p->brown);
  Colour window = p->night ? colour(1.4f, 1.25f, .6f) : colour(.7f, .88f, .97f);
  put(b, box(x, y, -.48f, .3f, .16f, .16f, 0), window);
  put(b, box(x, y, .48f, .3f, .16f, .16f, 0), window);
}

static void draw_rocket(Brush *b, const Paint *p, float x, float y) {
  float flame = .25f + .1f * sinf(2 * TURN * p->seconds), hull = ellipse(x, y, 0, -.1f, .4f, 1.05f);
  put(b, triangle(x, y, -.22f, .7f, .22f, .7f, 0, .95f + flame), colour(1.1f, .6f, .1f));
  put(b, triangle(x, y, -.3f, .1f, -.7f, .8f, -.25f, .7f), p->dark);
  put(b, triangle(x, y, .3f, .1f, .7f, .8f, .25f, .7f), p->dark);
  put(b, fmaxf(hull, y - .72f), p->white);
  put(b, fmaxf(hull, y + .45f), p->main);
  put(b, fmaxf(fmaxf(hull, y - .72f), .45f - y), p->main);
  put(b, circle(x, y, 0, -.12f, .2f), p->main);
  put(b, circle(x, y, 0, -.12f, .12f), colour(.6f, .85f, .95f));
}

static void draw_butterfly(Brush *b, const Paint *p, float x, float y) {
  float open = .55f + .45f * p->flap, wing_x = x / open;
  for (int end = -1; end < 2; end += 2) put(b, ellipse(wing_x, y, .58f * end, -.35f, .55f, .5f) * open, p->main);
  for (int end = -1; end < 2; end += 2) put(b, ellipse(wing_x, y, .45f * end, .4f, .38f, .42f) * open, p->dark);
  for (int end = -1; end < 2; end += 2) put(b, circle(wing_x, y, .65f * end, -.4f, .18f) * open, p->accent);
  put(b, ellipse(x, y, 0, 0, .09f, .65f), p->black);
  for (int end = -1; end < 2; end += 2) put(b, line(x, y, 0, -.55f, .22f * end, -.95f, .03f), p->black);
}

static void draw_kite(Brush *b, const Paint *p, float x, float y) {
  float sway = .12f * p->flap;
  put(b, line(x, y, 0, .7f, -.2f + sway, 1.1f, .03f), p->black);
  put(b, line(x, y, -.2f + sway, 1.1f, -.05f - sway, 1.5f, .03f), p->black);
  put(b, triangle(x, y, -.2f + sway, 1.1f, -.4f + sway, 1.0f, -.4f + sway, 1.25f), p->light);
  put(b, triangle(x, y, -.2f + sway, 1.1f, 0.f + sway, 1.0f, 0.f + sway, 1.25f), p->light);
  put(b, triangle(x, y, 0, -1.0f, -.7f, -.2f, .7f, -.2f), p->main);
  put(b, triangle(x, y, 0, .75f, -.7f, -.2f, .7f, -.2f), p->dark);
  put(b, line(x, y, 0, -1.f, 0, .75f, .03f), p->accent);
  put(b, line(x, y, -.7f, -.2f, .7f, -.2f, .03f), p->accent);
}

static void draw_cat(Brush *b, const Paint *p, float x, float y) {
  float step = p->flap * .16f;
  Colour eye = colour(.55f, .95f, .4f);
  put(b, line(x, y, -.75f, .0f, -1.05f, -.55f + step, .09f), p->main);
  put(b, line(x, y, -.5f, .3f, -.5f - step, .85f, .1f), p->dark);
  put(b, line(x, y, .4f, .3f, .4f + step, .85f, .1f), p->dark);
  put(b, line(x, y, -.3f, .3f, -.3f + step, .85f, .1f), p->main);
  put(b, line(x, y, .22f, .3f, .22f - step, .85f, .1f), p->main);
  put(b, ellipse(x, y, -.1f, .15f, .72f, .36f), p->main);
  put(b, triangle(x, y, .42f, -.4f, .62f, -.5f, .45f, -.9f), p->main);
  put(b, triangle(x, y, .72f, -.5f, .95f, -.4f, .92f, -.9f), p->main);
  put(b, circle(x, y, .68f, -.25f, .38f), p->main);
  put(b, circle(x, y, .58f, -.3f, .08f), eye);
  put(b, circle(x, y, .84f, -.3f, .08f), eye);
  put(b, circle(x, y, .72f, -.14f, .055f), colour(.95f, .55f, .6f));
}

void draw_subject(Brush *b, int subject, Colour main, float seconds, int night) {
  typedef void (*Draw)(Brush *, const Paint *, float, float);
  static const Draw draws[] = {draw_ball, draw_boat, draw_bird, draw_balloon, draw_car, draw_fish,
                               draw_tree, draw_house, draw_rocket, draw_butterfly, draw_kite, draw_cat};
  if (subject >= NONE) return;
  Paint p = {.main = main, .dark = scale(main, .62f), .light = mix(main, white(), .45f)};
  p.white = colour(.96f, .95f, .92f);
  p.black = colour(.10f, .10f, .13f);
  p.brown = colour(.35f, .22f, .14f);
  p.accent = main.r > .85f && main.g > .85f && main.b > .85f ? colour(.85f, .25f, .2f) : p.white;
  p.flap = sinf(TURN * seconds);
  p.seconds = seconds;
  p.night = night;
  draws[subject](b, &p, b->x, b->y);
}
