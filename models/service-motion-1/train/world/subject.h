// Drawing one pixel of a subject, in subject half sizes around its centre.
#ifndef SUBJECT_H
#define SUBJECT_H

#include "scene.h"

typedef struct {
  float x, y;       // the pixel
  float sharpness;  // pixels per half size
  Colour colour;    // painted so far, premultiplied
  float alpha;
  Colour light;
} Brush;

void draw_subject(Brush *brush, int subject, Colour main, float seconds, int night);

#endif
