// The procedural world. Every picture is a function of a scene's parameters and of time.
//
// Coordinates: x to the right, y down, in frame heights; the 16:9 picture is 0..1.78 by 0..1.
#ifndef SCENE_H
#define SCENE_H

#include <math.h>
#include <stdint.h>

enum { OCEAN, MEADOW, DESERT, MOUNTAINS, CITY, FOREST, SNOWFIELD, BEACH, SPACE, SKY, UNDERWATER };
enum { DAWN, NOON, SUNSET, NIGHT };
enum { CLEAR, RAIN, SNOW, FOG };
enum { BALL, BOAT, BIRD, BALLOON, CAR, FISH, TREE, HOUSE, ROCKET, BUTTERFLY, KITE, CAT, NONE };
enum { STILL, RIGHTWARD, LEFTWARD, RISE, FALL, BOUNCE, SPIN };
enum { STATIC_CAMERA, PAN_LEFT, PAN_RIGHT, ZOOM_IN, ZOOM_OUT };

// Places of the parameters in the array of floats.
enum {
  P_SETTING, P_TIME, P_WEATHER, P_SUBJECT, P_MOTION, P_CAMERA,
  P_RED, P_GREEN, P_BLUE,
  P_SIZE,        // half size of the subject
  P_PHASE_1, P_PHASE_2,  // 0..1, shape of the landscape
  P_HORIZON,     // offset of the horizon
  P_DURATION,    // seconds of the clip
  P_AMPLITUDE,   // half length of a crossing
  P_OFFSET_X, P_OFFSET_Y,  // of the subject
  P_SUN_X        // offset of sun or moon
};

typedef struct { float r, g, b; } Colour;

// Camera and light of one frame.
typedef struct {
  int setting, time, weather;
  float phase_1, phase_2, seconds, horizon;
  float pixel;       // side of a pixel
  float zoom, pan;
  float centre_x, centre_y;  // of the zoom
  Colour sky_top, sky_bottom, ambient, fog;
} View;

#define PI 3.14159265f
#define TURN 6.2831853f
#define ASPECT (16.f / 9)

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
// A pseudo-random number 0..1 of an integer.
static inline float hashed(int n) {
  uint32_t x = (uint32_t)n * 2654435761u;
  x ^= x >> 15;
  x *= 2246822519u;
  x ^= x >> 13;
  x *= 3266489917u;
  x ^= x >> 16;
  return (x & 0xffffff) / 16777216.f;
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

// view.c
View make_view(const float *parameters, float seconds, float pixel);
Colour subject_light(const float *parameters);
Colour fog_colour(int time);
// landscape.c
int build_landscape(const View *view, int origin_x, int width);
Colour paint_landscape(const View *view, Colour c, int column, float x, float y);
// air.c
Colour paint_heaven(const View *view, const float *parameters, Colour c, float xs, float ys);
Colour paint_clouds(const View *view, Colour c, float x, float y);
Colour paint_precipitation(const View *view, Colour c, float xs, float ys);
float sun_visibility(const View *view);
void sun_place(const View *view, float offset, float *x, float *y, float *radius);
Colour sun_colour(int time);
// water.c
Colour paint_water(const View *view, const float *parameters, Colour c, float xs, float x, float y);
Colour paint_light_rays(const View *view, Colour c, float x, float ys, float y);

#endif
