import sharp from "sharp";

// Loaders decide what bytes may become: all blocked (SVG, PDF, HEIF, ImageMagick, ...) but these three.
sharp.block({ operation: ["VipsForeignLoad"] });
sharp.unblock({ operation: ["VipsForeignLoadPng", "VipsForeignLoadJpeg", "VipsForeignLoadWebp"] });
// Every picture is seen once: a cache would only hold memory.
sharp.cache(false);

/** sharp that opens PNG, JPEG, WebP and raw pixels, nothing else. Import it from here only. */
export { sharp };
