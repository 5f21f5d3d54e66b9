// Where the subject is, and what it looks like alone.
#include "scene.h"
#include "subject.h"

#define EXTENT 2.9f  // side of the sprite in subject half sizes
#define DROP .1f

static int flies(int subject) {
  return subject == BIRD || subject == BALLOON || subject == BUTTERFLY || subject == KITE || subject == ROCKET;
}

static float resting_height(const float *p) {
  int setting = p[P_SETTING], subject = p[P_SUBJECT], floating = setting == SPACE || setting == UNDERWATER || setting == SKY;
  float size = p[P_SIZE], horizon = .55f + p[P_HORIZON];
  float y = flies(subject) ? .38f : .76f - size * .55f + .06f;
  if (subject == BOAT) y = horizon + .14f - size * .2f;
  if (subject == FISH) y = horizon + .12f;
  if (setting == BEACH && subject == BOAT) y = horizon + .06f - size * .4f;
  if (floating) y = .48f;
  if (subject == TREE || subject == HOUSE) y = floating ? .5f : .80f - size * .95f;
  return y;
}

static float subject_angle(const float *p, float t, float share) {
  int subject = p[P_SUBJECT], motion = p[P_MOTION], calm = motion == RIGHTWARD || motion == LEFTWARD || motion == STILL;
  float angle = motion == SPIN ? TURN * t / 3.f : 0;
  if (subject == BOAT && calm) angle = .06f * sinf(PI * t + 1);
  if (subject == BALL && motion == RIGHTWARD) angle = 5 * share * p[P_AMPLITUDE];
  if (subject == BALL && motion == LEFTWARD) angle = -5 * share * p[P_AMPLITUDE];
  if (subject == ROCKET && motion == RIGHTWARD) angle = 1.25f;
  if (subject == ROCKET && motion == LEFTWARD) angle = -1.25f;
  if (subject == ROCKET && motion == FALL) angle = PI;
  return subject == KITE ? angle + .2f + .08f * sinf(PI * t) : angle;
}

// out: x, y, half size (frame heights), angle (radians), facing (-1 or 1).
void place_subject(const float *p, float t, float *out) {
  int subject = p[P_SUBJECT], motion = p[P_MOTION];
  float share = t / p[P_DURATION];
  View v = make_view(p, t, 1);
  float x = v.centre_x + p[P_OFFSET_X], y = resting_height(p) + p[P_OFFSET_Y];
  if (motion == RIGHTWARD) x += p[P_AMPLITUDE] * (2 * share - 1);
  if (motion == LEFTWARD) x -= p[P_AMPLITUDE] * (2 * share - 1);
  if (motion == RISE) y = .80f - .58f * share;
  if (motion == FALL) y = .20f + .56f * share;
  if (motion == BOUNCE) y -= .30f * fabsf(sinf(PI * t));
  if (motion == RIGHTWARD || motion == LEFTWARD || motion == STILL) {
    if (flies(subject) || subject == FISH) y += .02f * sinf(PI * t);
    if (subject == BOAT) y += .012f * sinf(PI * t);
  }
  out[0] = (x - v.centre_x - v.pan * .45f) * v.zoom + v.centre_x;
  out[1] = (y - v.centre_y) * v.zoom + v.centre_y;
  out[2] = p[P_SIZE] * v.zoom;
  out[3] = subject_angle(p, t, share);
  out[4] = motion == LEFTWARD ? -1 : 1;
}

// out: premultiplied RGBA planes [4, side, side] in 0..1.
void draw_sprite(const float *p, float t, int side, float *out) {
  int time = p[P_TIME], area = side * side;
  Brush brush = {.sharpness = side / EXTENT, .light = subject_light(p)};
  Colour fog = fog_colour(time);
  for (int row = 0; row < side; row++)
    for (int column = 0; column < side; column++) {
      brush.x = ((column + .5f) / side - .5f) * EXTENT;
      brush.y = ((row + .5f) / side - .5f) * EXTENT + DROP;
      brush.colour = colour(0, 0, 0);
      brush.alpha = 0;
      draw_subject(&brush, p[P_SUBJECT], colour(p[P_RED], p[P_GREEN], p[P_BLUE]), t, time == NIGHT);
      if (p[P_WEATHER] == FOG) brush.colour = mix(brush.colour, scale(fog, brush.alpha), .22f);
      float *o = out + row * side + column;
      o[0] = unit(brush.colour.r);
      o[area] = unit(brush.colour.g);
      o[2 * area] = unit(brush.colour.b);
      o[3 * area] = brush.alpha;
    }
}
