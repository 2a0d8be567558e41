import { z } from 'zod';

const priority = z.int().min(0);

/** A step's place in each kind of flow that has it. In-band deploy steps run while the agent does (DESIGN.md). */
export const StepPriorities = z
  .strictObject({
    deploy: priority.refine(
      (value) => value === 0 || (value >= 41 && value <= 99),
      'it must be 41 to 99, or 0: only when asked for',
    ),
    clean: priority,
    service: priority,
  })
  .partial()
  .refine((kinds) => Object.keys(kinds).length > 0, 'it must have deploy, clean or service');
