import type { JsonObject, NodeRow } from '#conductor/db/schema/node.ts';
import type { ProvisionState } from '#conductor/nodes/provision-states.ts';
import { type SkippedDisk, skipReasons } from '#shared/wire/erase-result.ts';

/** A disk that a wipe has preserved, by what it is known again. */
export interface SparedDisk {
  readonly serial: string | null;
  readonly wwn: string | null;
}

const deployStates: readonly ProvisionState[] = ['deploying', 'wait call-back', 'deploy hold'];

/** What a deploy after this wipe has to leave alone; disks without serial number and WWN can't be told from others. */
export function sparedDisks(skipped: readonly SkippedDisk[]): readonly SparedDisk[] {
  return skipped
    .filter(({ reason, serial, wwn }) => reason === skipReasons.preserved && (serial !== null || wwn !== null))
    .map(({ serial, wwn }) => ({ serial, wwn }));
}

/**
 * The node's properties with what a wipe has preserved on the skip list (agent-protocol.md §6.6): without it the next
 * deploy could take such a disk for the root device or for an array, when names or sizes are alike. Pure.
 */
export function sparing(properties: JsonObject, { sparedDisks: spared }: Pick<NodeRow, 'sparedDisks'>): JsonObject {
  const listed = properties['skip_block_devices'] ?? [];
  // one that can't be understood stops every step that goes by it
  if (spared === null || spared.length === 0 || !Array.isArray(listed)) return properties;
  return { ...properties, skip_block_devices: [...(listed as readonly unknown[]), ...spared.map(asHints)] };
}

/** Whether the node is being deployed: other flows may erase what was preserved, when they are asked to. */
export function isDeploying({ provisionState }: Pick<NodeRow, 'provisionState'>): boolean {
  return deployStates.includes(provisionState);
}

function asHints({ serial, wwn }: SparedDisk): JsonObject {
  return {
    ...(serial === null ? {} : { serial: `s== ${serial}` }),
    ...(wwn === null ? {} : { wwn: `s== ${wwn}` }),
  };
}
