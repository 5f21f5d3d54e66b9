// Camera, light and colours of the air.
#include "scene.h"

static const Colour SKY_TOP[4] = {{.42f, .47f, .80f}, {.18f, .48f, .92f}, {.30f, .16f, .48f}, {.02f, .03f, .13f}};
static const Colour SKY_BOTTOM[4] = {{1.f, .76f, .70f}, {.74f, .90f, 1.f}, {1.f, .55f, .22f}, {.10f, .13f, .32f}};
static const Colour AMBIENT[4] = {{1.f, .84f, .84f}, {1, 1, 1}, {1.f, .72f, .58f}, {.32f, .37f, .58f}};
static const Colour SUBJECT_AMBIENT[4] = {{1.f, .92f, .92f}, {1, 1, 1}, {1.f, .86f, .78f}, {.66f, .68f, .82f}};

Colour fog_colour(int time) { return times(colour(.82f, .84f, .86f), mix(AMBIENT[time], white(), .25f)); }

static void set_camera(View *view, int camera, float share) {
  view->zoom = 1;
  view->pan = 0;
  if (camera == ZOOM_IN) view->zoom = 1 + .45f * share;
  if (camera == ZOOM_OUT) view->zoom = 1.45f - .45f * share;
  if (camera == PAN_LEFT) view->pan = -.7f * (share - .5f);
  if (camera == PAN_RIGHT) view->pan = .7f * (share - .5f);
}

static void set_weather(View *view) {
  if (view->weather == RAIN) {
    Colour grey = times(colour(.42f, .46f, .52f), mix(view->ambient, white(), .3f));
    view->sky_top = mix(view->sky_top, scale(grey, .75f), .7f);
    view->sky_bottom = mix(view->sky_bottom, grey, .7f);
    view->ambient = scale(view->ambient, .8f);
  }
  if (view->weather == SNOW) {
    Colour grey = times(colour(.80f, .83f, .88f), mix(view->ambient, white(), .25f));
    view->sky_top = mix(view->sky_top, scale(grey, .85f), .6f);
    view->sky_bottom = mix(view->sky_bottom, grey, .6f);
  }
  if (view->weather == FOG) {
    view->sky_top = mix(view->sky_top, view->fog, .6f);
    view->sky_bottom = mix(view->sky_bottom, view->fog, .75f);
  }
}

View make_view(const float *p, float seconds, float pixel) {
  View view = {.setting = p[P_SETTING], .time = p[P_TIME], .weather = p[P_WEATHER]};
  view.phase_1 = p[P_PHASE_1];
  view.phase_2 = p[P_PHASE_2];
  view.seconds = seconds;
  view.horizon = .55f + p[P_HORIZON];
  view.pixel = pixel;
  view.centre_x = ASPECT / 2;
  view.centre_y = .52f;
  set_camera(&view, p[P_CAMERA], seconds / p[P_DURATION]);
  view.sky_top = SKY_TOP[view.time];
  view.sky_bottom = SKY_BOTTOM[view.time];
  view.ambient = AMBIENT[view.time];
  view.fog = fog_colour(view.time);
  set_weather(&view);
  if (view.setting == SPACE) {
    view.sky_top = colour(.015f, .01f, .05f);
    view.sky_bottom = colour(.07f, .03f, .16f);
  }
  if (view.setting == UNDERWATER) {
    Colour light = mix(view.ambient, white(), .35f);
    view.sky_top = times(colour(.20f, .68f, .82f), light);
    view.sky_bottom = times(colour(.02f, .20f, .42f), light);
  }
  return view;
}

Colour subject_light(const float *p) {
  int setting = p[P_SETTING];
  Colour light = SUBJECT_AMBIENT[(int)p[P_TIME]];
  if (setting == SPACE) light = colour(.9f, .9f, .95f);
  if (setting == UNDERWATER) light = times(mix(light, white(), .4f), colour(.86f, .95f, 1.f));
  return light;
}
