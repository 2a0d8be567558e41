import { z } from 'zod';
import type { HardwareManager } from '#agent/hardware/hardware-manager.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { stepInterfaces } from '#shared/wire/step.ts';

const isFunction = z.custom<unknown>((value) => typeof value === 'function', 'it must be a function');

const OfferedStep = z.looseObject({
  priority: z.int().min(0),
  step: z.looseObject({
    interface: z.enum(stepInterfaces),
    step: z.string().regex(/^[a-z][a-z0-9_]*$/, 'lower-case letters, digits and _'),
    description: z.string(),
    abortable: z.boolean(),
    rebootRequested: z.boolean(),
    args: z.custom<unknown>((value) => value instanceof z.ZodType, 'it must be a zod schema (of the package `zod`)'),
    run: isFunction,
  }),
});

const Manager = z.looseObject({
  className: z.string().regex(/^[A-Z]\w*$/, "a class's name, like AcmeHardwareManager"),
  name: z.string().regex(/^[a-z][a-z0-9_]*$/, 'lower-case letters, digits and _'),
  version: z.string().min(1),
  evaluateSupport: isFunction,
  steps: z.looseObject({
    deploy: z.array(
      OfferedStep.refine(
        ({ priority }) => priority === 0 || (priority >= 41 && priority <= 99),
        'priority: it must be 41 to 99 in a deploy, or 0: only when asked for',
      ),
    ),
    clean: z.array(OfferedStep),
    service: z.array(OfferedStep),
  }),
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
