import { z } from 'zod';

export const allocationEnvironment = {
  BATON_ALLOCATION_ERROR_DAYS: z.coerce
    .number()
    .int()
    .min(0)
    .max(36_500)
    .default(0)
    .describe('days after which an allocation in error is forgotten, with its name; 0 = never'),
};
