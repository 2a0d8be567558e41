import { z } from 'zod';

/**
 * Refuses a list by its length before anything is said of its members: to look at each of ten thousand takes the time in
 * which nobody else is answered. The API's document shows the limit.
 */
export function boundedList<List extends z.ZodArray>(list: List, most: number) {
  return z.preprocess(
    (given, context) => {
      if (!Array.isArray(given) || given.length <= most) return given;
      context.addIssue({ code: 'custom', message: `has ${given.length} members, and may have at most ${most}` });
      return z.NEVER;
    },
    list.meta({ maxItems: most }),
  );
}
