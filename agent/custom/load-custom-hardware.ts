import { z } from 'zod';
import type { CustomModule } from '#agent/custom/custom-modules.ts';
import { listScriptFiles, loadScriptFile } from '#agent/custom/load-script-file.ts';
import { StepPriorities } from '#agent/custom/script-file.ts';
import { type HardwareManager, type HardwareSupport, hardwareSupport } from '#agent/hardware/hardware-manager.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';
import { describeIssues } from '#shared/errors/describe-issues.ts';
import type { Run } from '#shared/process/run.ts';
import { diskLosses, longestHoldSeconds, stepInterfaces } from '#shared/wire/step.ts';

export interface CustomHardware {
  readonly managers: readonly HardwareManager[];
  /** Things that could not be loaded, and why. Not empty: the agent refuses to list its steps (`step-commands.ts`). */
  readonly problems: readonly string[];
}

const Support = z.literal(Object.values(hardwareSupport));

/**
 * The hardware managers that somebody has put into the ramdisk: modules bundled with the agent, and the YAML files of
 * `steps.d`. Each is loaded and asked for its support on its own, so that one that is broken spoils no other; never
 * rejects.
 */
export async function loadCustomHardware(options: {
  readonly modules: readonly CustomModule[];
  readonly scriptDirectory: string;
  readonly taken: readonly HardwareManager[];
  readonly run: Run;
}): Promise<CustomHardware> {
  const { modules, scriptDirectory, run } = options;
  const sources = [
    ...modules.map(({ file, load }) => ({ file, load: async () => checkManager(file, await load()) })),
    ...(await listScriptFiles(scriptDirectory)).map((file) => ({
      file,
      load: () => loadScriptFile(scriptDirectory, file, run),
    })),
  ];
  const managers: HardwareManager[] = [];
  const problems: string[] = [];
  for (const { file, load } of sources) {
    try {
      const manager = await load();
      requireFreeNames(manager, [...options.taken, ...managers], file);
      managers.push(await withKnownSupport(manager, file));
    } catch (error) {
      problems.push(`hardware manager ${file} could not be loaded: ${errorChain(error)}`);
    }
  }
  return { managers, problems };
}

async function withKnownSupport(manager: HardwareManager, file: string): Promise<HardwareManager> {
  const support = Support.safeParse(await manager.evaluateSupport());
  if (!support.success) {
    throw new AppError('invalid_argument', `${file}: evaluateSupport must resolve with a value of hardwareSupport`);
  }
  const known: HardwareSupport = support.data;
  const { className, name, version, steps } = manager; // not spread: it may be an instance of a class
  return { className, name, version, steps, evaluateSupport: () => Promise.resolve(known) };
}

/** The wire keys the step lists by class name and the versions by name. */
function requireFreeNames(manager: HardwareManager, taken: readonly HardwareManager[], file: string): void {
  const twin = taken.find(({ className, name }) => className === manager.className || name === manager.name);
  if (!twin) return;
  throw new AppError(
    'invalid_argument',
    `${file}: there is a hardware manager ${twin.className} (${twin.name}) already: another file name, className, name`,
  );
}

const isFunction = z.custom<unknown>((value) => typeof value === 'function', 'it must be a function');

const Step = z.looseObject({
  interface: z.enum(stepInterfaces),
  step: z.string().regex(/^[a-z][a-z0-9_]*$/, 'lower-case letters, digits and _'),
  description: z.string().min(1),
  priorities: StepPriorities,
  destroys: z.enum([...diskLosses, 'unknown']),
  abortable: z.boolean(),
  rebootRequested: z.boolean(),
  mustNotLosePower: z.number().int().min(0).max(longestHoldSeconds).optional(),
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
  throw new AppError('invalid_argument', `${file}: ${describeIssues(checked.error, 'hardwareManager')}`);
}
