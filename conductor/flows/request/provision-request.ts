import type { SeenNode } from '#conductor/flows/request/require-no-flow.ts';
import type { Caller } from '#conductor/kernel/caller.ts';
import type { WipeRequest } from '#conductor/model/flows/flow-states.ts';
import type { RequestedStep } from '#conductor/model/flows/planned-step.ts';
import type { ProvisionVerb } from '#conductor/model/provision-states.ts';
import type { RequestIds } from '#conductor/model/request-ids.ts';

export interface ProvisionRequest {
  readonly verb: ProvisionVerb;
  /** base64(gzip(iso)), a URL, or Ironic's dict `{meta_data, network_data, user_data, vendor_data}`. */
  readonly configDrive?: string | Record<string, unknown> | undefined;
  /** Steps that are asked for; of a deploy by priority; of manual cleaning and service the whole list, in order. */
  readonly steps?: readonly RequestedStep[] | undefined;
  readonly disableRamdisk?: boolean | undefined;
  /** The plan that the operator has read. */
  readonly planHash?: string | undefined;
  /** Password in plain text; it is kept as a hash. */
  readonly rescuePassword?: string | undefined;
  /** Wipe of the disks at `deleted` and `provide`, in place of automated cleaning and whatever its settings. */
  readonly wipe?: WipeRequest | undefined;
  readonly caller: Pick<Caller, 'user' | 'project' | 'via' | keyof RequestIds>;
  /** Whether the request holds only while the node has neither owner nor lessee. */
  readonly isUnowned?: boolean;
  /** The site action that wants it; its flows leave the ramdisk running for each other. */
  readonly actionId?: string | undefined;
  /**
   * Token of the lease that the action is run under: nothing is begun once that is another one's, or the action has
   * ended.
   */
  readonly actionToken?: number | undefined;
  /** An act of a teardown: it is not begun once a pause or a stop of the action was accepted. Whatever wipes is one. */
  readonly isTeardown?: boolean;
  /** State that the request was decided from: nothing is begun on a node that has moved on since. */
  readonly seen?: SeenNode | undefined;
}
