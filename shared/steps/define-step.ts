import { z } from 'zod';
import { AppError } from '#shared/errors/app-error.ts';
import { describeIssues } from '#shared/errors/describe-issues.ts';
import type { FaultCode } from '#shared/errors/fault-codes.ts';
import type { ArgsInfo, DiskLoss, StepInterface, StepKind } from '#shared/wire/step.ts';

/** Outcome of running a step once; a failure is a thrown `AppError`. */
export type StepOutcome =
  | { readonly kind: 'done'; readonly output?: unknown }
  | {
      readonly kind: 'wait';
      /** The awaited thing, as the operator reads it: `first heartbeat of the ramdisk`. */
      readonly reason: string;
      /** Code of the awaited thing, by which operators are advised. */
      readonly code: FaultCode;
      readonly subject?: string | undefined;
      /** Milliseconds from now until the step fails with a timeout; `Infinity` = never. */
      readonly timeoutMs: number;
      /** Milliseconds until `resume` looks again even without a nudge. */
      readonly checkEveryMs: number;
    }
  | { readonly kind: 'reboot'; readonly reason: string; readonly output?: unknown };

/** A step is a value that says everything about itself: lists, documents and the wire are made from it. */
export interface StepDefinition<Context, Args = unknown> {
  readonly interface: StepInterface;
  readonly step: string;
  /** In each kind of flow: higher runs earlier, 0 = only when asked for, absent = not offered there. */
  readonly priorities: { readonly [Kind in StepKind]?: number | undefined };
  readonly description: string;
  /** Data that the step may cost: operators read it in a plan before it runs. */
  readonly destroys: DiskLoss | 'unknown';
  readonly abortable: boolean;
  /** The machine is rebooted into the ramdisk after the step. */
  readonly rebootRequested: boolean;
  /**
   * Seconds in which a loss of power may still break the machine after the agent was last heard to be at the step; 0 =
   * it breaks nothing. Absent = not said.
   */
  readonly mustNotLosePower?: number;
  readonly args: z.ZodType<Args>;
  /** Acts. Must be safe to repeat: after a crash a step that had started is run again. */
  run(context: Context, args: Args): Promise<StepOutcome>;
  /** Looks whether what `run` waits for has come. Never acts twice. Only for steps that answer `wait`. */
  resume?(context: Context, args: Args): Promise<StepOutcome>;
}

export interface StepOptions<Context, Args>
  extends Omit<StepDefinition<Context, Args>, 'abortable' | 'rebootRequested'> {
  readonly abortable?: boolean;
  readonly rebootRequested?: boolean;
}

export function defineStep<Context, Args>(options: StepOptions<Context, Args>): StepDefinition<Context, Args> {
  return { abortable: false, rebootRequested: false, ...options };
}

/**
 * Makes Ironic's `argsinfo` of an argument schema: name → description and whether it must be given. `undefined` for a step
 * without arguments.
 */
export function argsInfo(schema: z.ZodType): ArgsInfo | undefined {
  if (!(schema instanceof z.ZodObject)) return undefined;
  const entries = Object.entries(schema.shape as Record<string, z.ZodType>).map(([name, field]) => [
    name,
    { description: field.description ?? name, required: !field.safeParse(undefined).success },
  ]);
  return entries.length === 0 ? undefined : (Object.fromEntries(entries) as ArgsInfo);
}

/**
 * Parses a step's arguments.
 * @throws AppError `invalid_argument` naming step and argument.
 */
export function parseStepArgs<Args>(
  step: Pick<StepDefinition<never, Args>, 'step' | 'args'> & { readonly interface: string },
  args: unknown,
): Args {
  const parsed = step.args.safeParse(args ?? {});
  if (parsed.success) return parsed.data;
  const faults = describeIssues(parsed.error, 'args');
  throw new AppError('invalid_argument', `step ${step.interface}.${step.step} got bad arguments: ${faults}`);
}
