import type { AgentClient } from '#conductor/agents/agent-client.ts';
import type { AgentsContext } from '#conductor/agents/context.ts';
import type { Bmc } from '#conductor/drivers/interfaces.ts';
import type { FlowsConfig, PluginFiles } from '#conductor/flows/flows-config.ts';
import type { Transaction } from '#conductor/kernel/db/open.ts';
import type { AgentSessionRow } from '#conductor/kernel/db/schema/agent.ts';
import type { FlowRow, FlowStepRow } from '#conductor/kernel/db/schema/flow.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { PortRow } from '#conductor/kernel/db/schema/port.ts';
import { openStepArgs } from '#conductor/kernel/secrets/node-secrets.ts';
import type { FlowKind } from '#conductor/model/flows/flow-kind.ts';
import type { PlannedStep } from '#conductor/model/flows/planned-step.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import type { Nudging } from '#conductor/nodes/context.ts';
import type { NodeChange } from '#conductor/nodes/node-store.ts';
import { errorCode } from '#shared/errors/app-error.ts';
import type { Fault, FaultCode } from '#shared/errors/fault-codes.ts';
import type { Hide } from '#shared/secret-words.ts';
import type { StepDefinition, StepOutcome } from '#shared/steps/define-step.ts';
import type { HardwareManagerVersion, StepInterface, StepKind } from '#shared/wire/step.ts';

/** Means that a conductor's step may use; facts are as of the moment at which the step is run or resumed. */
export interface StepContext
  extends Nudging,
    Pick<
      AgentsContext,
      'db' | 'database' | 'log' | 'clock' | 'secrets' | 'drivers' | 'networks' | 'inspectionRules' | 'stopping'
    > {
  readonly config: FlowsConfig;
  readonly pluginFiles: PluginFiles;
  readonly steps: StepTable;
  readonly node: NodeRow;
  /** Most steps need none. @throws AppError `database_error` */
  readonly ports: () => Promise<readonly PortRow[]>;
  readonly flow: FlowRow;
  readonly step: FlowStepRow;
  /** It may have been run before: a conductor died, or something passing was in its way. */
  readonly isRepeated: boolean;
  /** @throws AppError `invalid_argument` for driver_info that has become wrong. */
  readonly bmc: () => Bmc;
  /** Reads facts. @throws AppError `database_error` */
  readonly ask: <T>(answer: Promise<T>) => Promise<T>;
  /** Records that power is held, in a step that must not lose it, before something begins that is not asked of the BMC. */
  readonly keepPower: () => Promise<void>;
  /** Records that the machine is off for the step's own start of it: a conductor that takes over repeats none. */
  readonly noteOff: () => Promise<void>;
  readonly session: AgentSessionRow | undefined;
  /** @throws AppError `agent_error` when no agent has called in. */
  readonly agent: () => AgentClient;
  /** Others' words without the node's secrets. */
  readonly hide: Hide;
  /** Aborts when the conductor stops or has lost its lease on the node. */
  readonly signal: AbortSignal;
  /** Writes facts, fenced by the lease. */
  readonly record: <T>(write: (tx: Transaction) => Promise<T>) => Promise<T>;
}

/**
 * Writes facts, in a transaction that holds the lease; answers what of the node's own row changes, which is written by who
 * has called it.
 */
export type WriteFacts = (tx: Transaction) => Promise<NodeChange>;

/** Beyond what agents' steps answer. */
export type ConductorStepOutcome =
  | StepOutcome
  | (Extract<StepOutcome, { kind: 'wait' }> & {
      /** Its limit takes the place of that of the step's waits before; else the first one's stays. */
      readonly hasOwnLimit?: true;
    })
  /** Success, with facts that are written together with it. */
  | { readonly kind: 'done'; readonly output?: unknown; readonly record: WriteFacts }
  | {
      readonly kind: 'done';
      readonly output?: unknown;
      /** Takes the place of every step that has not started. */
      readonly plan: readonly PlannedStep[];
      readonly hardwareManagerVersion: HardwareManagerVersion;
    }
  /** It rests without a time limit until an operator's word. */
  | { readonly kind: 'hold'; readonly reason: string; readonly code: FaultCode }
  /** It has to be run once more, after `checkEveryMs`, until `timeoutMs` from the first try. */
  | ({ readonly kind: 'again'; readonly reason: string } & Fault & {
        readonly timeoutMs: number;
        readonly checkEveryMs: number;
      });

/** A conductor's step: the shared definition, with the wider outcome. */
export type ConductorStep = Pick<StepDefinition<StepContext>, 'step' | 'description'> & {
  /** `cluster`: what is done to the clusters that a node is part of; no driver's or agent's. */
  readonly interface: StepInterface | 'cluster';
  readonly run: (context: StepContext) => Promise<ConductorStepOutcome>;
  readonly resume?: (context: StepContext) => Promise<ConductorStepOutcome>;
  /**
   * Milliseconds from the step's start, of an agent's from its last word, in which a loss of power may break the machine;
   * `undefined` = it never does. Until the step has ended by its own word nothing else switches power: no failure, abort,
   * verb or other flow.
   */
  readonly mustNotLosePower?: (context: StepContext) => number | undefined | Promise<number | undefined>;
};

/**
 * An out-of-band step: what a hardware type's BMC can do, at the operator's word or by its own priority. It runs like
 * any conductor's step, with its arguments in `context.step.args`. An outcome `reboot` brings the ramdisk back where the
 * flow has one running; before the ramdisk boots (priority above 100) the step sees to its own reset.
 */
export interface DriverStep
  extends ConductorStep,
    Pick<StepDefinition<never>, 'interface' | 'args' | 'abortable' | 'priorities'> {
  readonly interface: StepDefinition<never>['interface'];
  /** Only where the node's interface has this name: else the step of the same name is the agent's. */
  readonly interfaceName?: string;
  /** Whether this node's BMC can do it; asked of the connection object, not of the BMC. */
  isOffered(bmc: Bmc): boolean;
}

type NamedStep = Pick<FlowStepRow, 'interface' | 'step' | 'inBand' | 'origin'>;
export type StepRunner = Pick<ConductorStep, 'run' | 'resume' | 'mustNotLosePower'>;

/** Steps that this release knows to run. */
export interface StepTable {
  /**
   * Finds what runs a flow's step: a step of the conductor's, or the agent; `undefined` = this release knows nothing
   * that does.
   */
  find(step: NamedStep, kind: FlowKind): StepRunner | undefined;
  /** Lists the out-of-band steps that a node's BMC offers in flows of that kind. */
  offered(bmc: Bmc, kind: StepKind): readonly DriverStep[];
}

/** Returns the step's arguments, secrets in clear. @throws AppError `invalid_argument` when a key is missing. */
export function stepArgs({ secrets, node, step }: Pick<StepContext, 'secrets' | 'node' | 'step'>): JsonObject {
  return openStepArgs(secrets, node.uuid, step.args);
}

/**
 * Reads what a BMC answers; `undefined` where it can't, which the log has: as a warning, unless it doesn't support it
 * at all.
 */
export async function tryToRead<Read>(
  { signal, log }: Pick<StepContext, 'signal' | 'log'>,
  what: string,
  read: () => Promise<Read>,
): Promise<Read | undefined> {
  try {
    return await read();
  } catch (error) {
    if (signal.aborted) throw error;
    const level = errorCode(error) === 'not_supported' ? 'debug' : 'warn';
    log[level]({ err: error }, `${what} could not be read`);
    return undefined;
  }
}
