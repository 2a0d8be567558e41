import type { FlowKindName } from '#conductor/model/flows/flow-states.ts';
import type { NetworkPurpose } from '#conductor/model/network-purposes.ts';
import type { InterfaceKind } from '#conductor/model/node-words.ts';
import type { ProvisionEvent, ProvisionState, VerbEvent } from '#conductor/model/provision-states.ts';
import type { DiskLoss, StepKind } from '#shared/wire/step.ts';

/** A core step's place: its code is in `conductor-steps/`. */
export interface CoreStep {
  readonly interface: 'deploy' | 'power' | 'cluster';
  readonly step: string;
  readonly priority: number;
  /** The agent does the work (`write_image`); an advertised step of the same name is hidden by it. */
  readonly inBand?: { readonly destroys: DiskLoss };
}

/** How the agent lists this kind's steps, and runs one (agent-protocol.md §4.1). */
export interface InBandSteps {
  readonly kind: StepKind;
  readonly executeCommand: string;
  readonly versionKey: string;
  /** In-band priorities outside it are refused, 0 = disabled. */
  readonly window?: { readonly lowest: number; readonly highest: number };
}

export interface FlowKind {
  readonly doing: string;
  /** The operator's next command after a failure; NODE stands for the node's name. */
  readonly afterFailure: { readonly next: string; readonly inMaintenance?: boolean };
  /** Verbs that start it, and the interfaces of the node that must be valid then. */
  readonly startedBy?: readonly VerbEvent[];
  readonly needs?: readonly Exclude<InterfaceKind, 'vendor'>[];
  /** The interface that does it, as in Ironic: with a fake one nothing is done at the machine. */
  readonly byInterface?: 'deploy' | 'inspect' | 'rescue';
  /** The state that the node is in while it runs; none = it stays as it is. */
  readonly during?: ProvisionState;
  /** Events that move the node; `wait` and `resume` only where the table has a waiting state. None = it stays as it is. */
  readonly events: {
    readonly wait?: ProvisionEvent;
    readonly resume?: ProvisionEvent;
    readonly done?: ProvisionEvent;
    readonly fail?: ProvisionEvent;
  };
  /** `target_provision_state` while it runs; null = the node stays where it is. */
  readonly target: ProvisionState | null;
  /** First and last of all, whatever the priorities between them. */
  readonly opening: readonly CoreStep[];
  /** Sorted with the agent's, the drivers' and the request's steps by priority. */
  readonly sorted: readonly CoreStep[];
  readonly closing: readonly CoreStep[];
  /** Last of all, where a wipe is to follow. */
  readonly beforeWipe?: readonly CoreStep[];
  /** Run after a failure, so that the node is left safe. */
  readonly cleanup: readonly CoreStep[];
  /** An instance runs when it begins: what follows the clean-up where nothing but a boot was done to the machine. */
  readonly giveBack?: readonly CoreStep[];
  /** It does nothing at the machine, so that it may be broken off anywhere. */
  readonly onlyReads?: boolean;
  /** The requested steps run in the order given, and no others (manual cleaning, service). */
  readonly asRequested?: boolean;
  readonly inBand?: InBandSteps;
  /** Where the node's switch ports are while the ramdisk runs. */
  readonly ramdiskNetwork: NetworkPurpose;
  /** The flow that follows at once when this one has succeeded. */
  readonly next?: FlowKindName;
  /** A failure takes the node out of service until a person has looked. */
  readonly fault?: string;
  /** The step that meets another ramdisk after a reboot ends the flow, or the flow starts over (DESIGN.md). */
  readonly otherRamdisk: 'fails' | 'restarts';
}
