// What the subject's drawing is made of: colours and distances to shapes.
#ifndef SCENE_H
#define SCENE_H

#include <math.h>

enum { OCEAN, MEADOW, DESERT, MOUNTAINS, CITY, FOREST, SNOWFIELD, BEACH, SPACE, SKY, UNDERWATER };
enum { DAWN, NOON, SUNSET, NIGHT };
enum { CLEAR, RAIN, SNOW, FOG };
enum { BALL, BOAT, BIRD, BALLOON, CAR, FISH, TREE, HOUSE, ROCKET, BUTTERFLY, KITE, CAT, NONE };
enum { STILL, RIGHTWARD, LEFTWARD, RISE, FALL, BOUNCE, SPIN };
enum { STATIC_CAMERA, PAN_LEFT, PAN_RIGHT, ZOOM_IN, ZOOM_OUT };

typedef struct { float r, g, b; } Colour;

#define PI 3.14159265f
#define TURN 6.2831853f

static inline Colour colour(float r, float g, float b) { return (Colour){r, g, b}; }
static inline Colour mix(Colour a, Colour b, float k) {
  return colour(a.r + (b.r - a.r) * k, a.g + (b.g - a.g) * k, a.b + (b.b - a.b) * k);
}
static inline Colour times(Colour a, Colour b) { return colour(a.r * b.r, a.g * b.g, a.b * b.b); }
static inline Colour scale(Colour a, float k) { return colour(a.r * k, a.g * k, a.b * k); }
static inline Colour white(void) { return colour(1, 1, 1); }
static inline float unit(float x) { return x < 0 ? 0 : (x > 1 ? 1 : x); }
static inline float smooth_step(float a, float b, float x) {
  x = unit((x - a) / (b - a));
  return x * x * (3 - 2 * x);
}
// Distances to shapes, negative inside.
static inline float circle(float x, float y, float cx, float cy, float r) {
  x -= cx;
  y -= cy;
  return sqrtf(x * x + y * y) - r;
}
static inline float ellipse(float x, float y, float cx, float cy, float a, float b) {
  x = x - cx;
  y = y - cy;
  float k0 = sqrtf(x * x / (a * a) + y * y / (b * b));
  float k1 = sqrtf(x * x / (a * a * a * a) + y * y / (b * b * b * b)) + 1e-6f;
  return k0 < 1e-4f ? -fminf(a, b) : k0 * (k0 - 1) / k1;
}

#endif
