import type { Area } from '#test/bench/area.ts';
import { writeImageArea } from '#test/bench/areas/write-image.ts';

/** Every area of `npm run bench`, one file each. */
export const areas: readonly Area[] = [writeImageArea];
