import { z } from 'zod';
import type { AgentContext, AgentStep } from '#agent/context.ts';
import { type HardwareManager, hardwareSupport } from '#agent/hardware/hardware-manager.ts';
import type { DiskInfo } from '#agent/hardware/inventory.ts';
import { systemClock } from '#shared/clock.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Situation } from '#shared/errors/fault-codes.ts';
import { defineStep, type StepOutcome } from '#shared/steps/define-step.ts';
import { EraseArgs, type EraseResult, eraseStep, skipReasons } from '#shared/wire/erase-result.ts';
import type { Progress } from '#shared/wire/progress.ts';
import type { StepKind } from '#shared/wire/step.ts';
import { PluginTaskArgs, pluginTaskStep } from '#shared/wire/step.ts';
import { writeToFile } from '#test/simulators/node/write-to-file.ts';

/** A step that fails, and the words that it ends with. */
interface FailedStep {
  readonly step: string;
  readonly message: string;
  readonly once?: boolean;
  /** Situation that the agent gives to it; absent = an image's fault. */
  readonly situation?: Situation;
  readonly subject?: string;
}

/** Faults that a test may cause. */
export interface NodeFaults {
  /** Step name → the error that it ends with; taken away once it has struck when `once`. */
  failStep?: FailedStep;
  /** Progress that the agent reports of this step while it takes its time. */
  reports?: { readonly step: string; readonly progress: Progress };
  /** The agent's process dies when it begins this step (once, unless `diesAgain`), and init starts it again. */
  dieInStep?: string;
  diesAgain?: boolean;
  /** The version that the hardware manager then has. */
  comesBackAs?: string | (() => string);
  /** This step takes so long (ms) in place of `stepMs`, or until the test lets it end. */
  slowStep?: { readonly step: string } & ({ readonly ms: number } | { readonly until: Promise<unknown> });
  /** The version of the hardware manager from the next start of the agent on; default 1. */
  hardwareVersion?: string;
  /** Why the agent can't tell what the machine is made of. */
  noInventory?: string;
  /** Its disks say that they are about to fail. */
  failingDisks?: boolean;
  /** Disks are erased without proof, as ironic-python-agent does it. */
  provesNoErase?: boolean;
  /** Why the agent can't load the written system for kexec. */
  noKexec?: string;
  /** The BMC presses the power button, and nothing comes of it. */
  deafButton?: boolean;
  /** Its own system goes into the ramdisk by kexec when its button is pressed, and pressed again; `deaf`: not then. */
  cooperates?: 'yes' | 'deaf';
  /** Its agent says that the boot loader is installed, as under UEFI; the simulated disk has none. */
  saysInstalled?: boolean;
  /** The ramdisk never comes up. */
  bootsNothing?: boolean;
}

export interface StepTime {
  readonly step: string;
  readonly startedAt: number;
  readonly endedAt: number;
  /** `skip_block_devices` as the command has it. */
  readonly skipList: unknown;
}

export interface SimulatedHardwareOptions {
  /** How long an in-band step takes; default 5. */
  readonly stepMs?: number;
  /** In-band deploy steps beside write_image, name → priority. */
  readonly deploySteps?: Readonly<Record<string, number>>;
  /** In-band clean and service steps; default one clean step, `erase_devices_metadata`. `erase_devices` is always there. */
  readonly cleanSteps?: readonly SimulatedStep[];
  readonly serviceSteps?: readonly SimulatedStep[];
  /** The file that images are written to; without one none is fetched. */
  readonly writesTo?: string;
  /** It has the step that runs plugins' tasks: these are recorded, with the files that came with them. */
  readonly runsPluginTasks?: boolean;
}

export interface SimulatedStep {
  readonly step: string;
  /** Default 0. */
  readonly priority?: number;
  readonly abortable?: boolean;
  readonly rebootRequested?: boolean;
  readonly mustNotLosePower?: number;
}

export interface StepRecord {
  readonly disk: string[];
  readonly stepTimes: StepTime[];
  /** Steps that are run now. */
  readonly running: Set<string>;
  /** Steps amid which the machine was switched off or reset, in order. */
  readonly cutAmid: string[];
}

/** The machine's disks, where steps have to know them. */
type Disks = readonly Pick<DiskInfo, 'name' | 'serial' | 'wwn' | 'model' | 'size'>[];

const standardSteps = { prepare_disks: 90, tune_image: 70 };

type Act = (context: AgentContext, step: string, entry: string, output?: unknown) => Promise<StepOutcome>;

/** Makes what every step does: nothing but what the faults say, and it is recorded. */
function actor(options: SimulatedHardwareOptions, faults: NodeFaults, record: StepRecord, death: AbortController): Act {
  return async (context: AgentContext, step: string, entry: string, output: unknown = null): Promise<StepOutcome> => {
    const startedAt = performance.now();
    if (faults.dieInStep === step) {
      if (!faults.diesAgain) delete faults.dieInStep;
      const { comesBackAs } = faults;
      if (comesBackAs) faults.hardwareVersion = typeof comesBackAs === 'string' ? comesBackAs : comesBackAs();
      death.abort(new Error('the agent dies'));
      // a dead process tells nobody that its step has failed
      return new Promise<never>(() => undefined);
    }
    const slow = faults.slowStep?.step === step ? faults.slowStep : { ms: options.stepMs ?? 5 };
    if (faults.reports?.step === step) context.reportProgress(faults.reports.progress);
    record.running.add(step);
    try {
      await ('until' in slow ? orAborted(slow.until, context.signal) : systemClock.sleep(slow.ms, context.signal));
    } finally {
      record.running.delete(step);
    }
    const failure = faults.failStep;
    if (failure?.step === step) {
      if (failure.once) delete faults.failStep;
      throw new AppError('image_error', failure.message, failure);
    }
    context.reportProgress({ phase: step, done_bytes: 1, total_bytes: 1 });
    record.disk.push(entry);
    const skipList = context.node.properties['skip_block_devices'];
    record.stepTimes.push({ step, startedAt, endedAt: performance.now(), skipList });
    return { kind: 'done', output };
  };
}

function orAborted(until: Promise<unknown>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    until.then(() => resolve(), reject);
  });
}

function pluginTask(act: Act): AgentStep {
  return defineStep<AgentContext, PluginTaskArgs>({
    ...pluginTaskStep,
    priorities: { deploy: 0 },
    destroys: 'unknown',
    description: "pretends to run a plugin's task",
    args: PluginTaskArgs,
    run: (context, { plugin, task, stage, cmd, plugin_files: files = {} }) =>
      act(
        context,
        pluginTaskStep.step,
        `${plugin} ${task} ${stage}: ${cmd} with ${Object.keys(files).join(', ') || 'nothing'}`,
      ),
  });
}

/** A hardware manager whose steps do nothing but what the faults say, and are recorded. */
export function simulatedHardware(
  options: SimulatedHardwareOptions,
  faults: NodeFaults,
  record: StepRecord,
  death: AbortController,
  disks: Disks = [],
): HardwareManager {
  const act = actor(options, faults, record, death);
  const writeImage = defineStep({
    interface: 'deploy',
    step: 'write_image',
    priorities: { deploy: 0 },
    destroys: 'root disk',
    description: 'pretends to write an image',
    args: z.object({ image_info: z.looseObject({ id: z.string() }), configdrive: z.string().nullish() }),
    run: async (context: AgentContext, { image_info: info, configdrive }) => {
      const { writesTo } = options;
      const origin = writesTo === undefined ? '' : await writeToFile(writesTo, context, info);
      return act(
        context,
        'write_image',
        `write_image ${info.id}${configdrive ? ' with config drive' : ''}`,
        `image (${info.id}) written to device ${disks[0]?.name ?? '/dev/sda'} root_uuid=None${origin}`,
      );
    },
  });
  const eraseDevices = defineStep<AgentContext, EraseArgs>({
    ...eraseStep,
    priorities: { clean: cleanPriority(options, eraseStep.step) },
    destroys: 'all',
    description: 'pretends to erase disks, and to have proved it',
    abortable: true,
    args: EraseArgs,
    run: (context, { only }) => {
      const wanted = disks.filter(({ serial }) => !only || only.disks.some((disk) => disk.serial === serial));
      if (only && wanted.length < only.disks.length)
        throw new AppError('storage_error', 'a disk is not in this machine');
      const output = eraseOutput(disks, wanted, faults.provesNoErase === true);
      return act(context, eraseStep.step, `erase_devices ${wanted.map(({ serial }) => serial).join(', ')}`, output);
    },
  });
  const plain = (kind: StepKind, { step, priority = 0, ...more }: SimulatedStep): AgentStep =>
    defineStep({
      ...more,
      interface: 'deploy',
      step,
      priorities: { [kind]: priority },
      destroys: step.startsWith('erase_devices') ? 'all' : 'unknown',
      description: `pretends to ${step}`,
      args: z.object({ note: z.string().optional(), password: z.string().optional() }),
      run: (context: AgentContext) => act(context, step, step),
    });
  return {
    className: 'SimulatedHardwareManager',
    name: 'simulated',
    version: faults.hardwareVersion ?? '1',
    evaluateSupport: () => Promise.resolve(hardwareSupport.generic),
    steps: [
      writeImage,
      ...(options.runsPluginTasks ? [pluginTask(act)] : []),
      ...Object.entries(options.deploySteps ?? standardSteps).map(([step, priority]) =>
        plain('deploy', { step, priority }),
      ),
      ...(options.cleanSteps ?? [{ step: 'erase_devices_metadata', priority: 99 }])
        .filter(({ step }) => step !== eraseStep.step)
        .map((step) => plain('clean', step)),
      eraseDevices,
      ...(options.serviceSteps ?? []).map((step) => plain('service', step)),
    ],
  };
}

function cleanPriority({ cleanSteps = [] }: SimulatedHardwareOptions, name: string): number {
  return cleanSteps.find(({ step }) => step === name)?.priority ?? 0;
}

function eraseOutput(disks: Disks, wanted: Disks, provesNothing: boolean): unknown {
  if (provesNothing) return { GenericHardwareManager: null };
  const identify = ({ name: device, serial, wwn, model }: Disks[number]) => ({ device, serial, wwn, model });
  return {
    erased: wanted.map((disk) => ({
      ...identify(disk),
      method: 'discard',
      bytes: disk.size,
      seconds: 0.1,
      proof: { canaries: 64, samples: 192, reads: 'zeros' },
    })),
    skipped: disks
      .filter((disk) => !wanted.includes(disk))
      .map((disk) => ({ ...identify(disk), reason: skipReasons.preserved })),
  } satisfies EraseResult;
}
