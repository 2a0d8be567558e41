import { z } from 'zod';
import { StepPriorities } from '#agent/custom/step-priorities.ts';
import type { HardwareManager } from '#agent/hardware/hardware-manager.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { diskLosses, stepInterfaces } from '#shared/wire/step.ts';

const isFunction = z.custom<unknown>((value) => typeof value === 'function', 'it must be a function');

const Step = z.looseObject({
  interface: z.enum(stepInterfaces),
  step: z.string().regex(/^[a-z][a-z0-9_]*$/, 'lower-case letters, digits and _'),
  description: z.string().min(1),
  priorities: StepPriorities,
  destroys: z.enum([...diskLosses, 'unknown']),
  abortable: z.boolean(),
  rebootRequested: z.boolean(),
  args: z.custom<unknown>((value) => value instanceof z.ZodType, 'it must be a zod schema (of the package `zod`)'),
  run: isFunction,
});

const Manager = z.looseObject({
  className: z.string().regex(/^[A-Z]\w*$/, "a class's name, like AcmeHardwareManager"),
  name: z.string().regex(/^[a-z][a-z0-9_]*$/, 'lower-case letters, digits and _'),
  version: z.string().min(1),
  evaluateSupport: isFunction,
  steps: z.array(Step),
});

/**
 * The `hardwareManager` that a custom module exports: nobody has checked its types when it was bundled.
 * @throws AppError `invalid_argument` naming the file and all that is wrong
 */
export function checkManager(file: string, exported: unknown): HardwareManager {
  const manager = (exported as { readonly hardwareManager?: unknown }).hardwareManager;
  if (manager === undefined) throw new AppError('invalid_argument', `${file}: it must export hardwareManager`);
  const checked = Manager.safeParse(manager);
  if (checked.success) return manager as HardwareManager;
  const faults = checked.error.issues.map((issue) => `${issue.path.join('.') || 'hardwareManager'}: ${issue.message}`);
  throw new AppError('invalid_argument', `${file}: ${faults.join('; ')}`);
}
