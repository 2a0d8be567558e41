import { z } from 'zod';

/** CUSTOM_… or one of the os-traits families; the families' own lists grow with every release and are not repeated here. */
export const TraitName = z
  .string({ error: 'must be a trait' })
  .max(255)
  .regex(/^(CUSTOM|HW|COMPUTE|MISC|OWNER|STORAGE)_[A-Z0-9_]+$/, 'must be CUSTOM_ and A-Z 0-9 _, or a standard trait');
