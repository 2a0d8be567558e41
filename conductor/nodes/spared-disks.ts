import type { JsonObject, NodeRow } from '#conductor/db/schema/node.ts';
import type { FlowKindName } from '#conductor/flows/flow-states.ts';
import { type SkippedDisk, skipReasons } from '#shared/wire/erase-result.ts';

/** A disk that a wipe has preserved, by what it is known again. */
export interface SparedDisk {
  readonly serial: string | null;
  readonly wwn: string | null;
}

/** What a deploy after this wipe has to leave alone; disks without serial number and WWN can't be told from others. */
export function sparedDisks(skipped: readonly SkippedDisk[]): readonly SparedDisk[] {
  return skipped
    .filter(({ reason, serial, wwn }) => reason === skipReasons.preserved && (serial !== null || wwn !== null))
    .map(({ serial, wwn }) => ({ serial, wwn }));
}

/**
 * The node's properties with what a wipe has preserved on the skip list (agent-protocol.md §6.6): without it cleaning
 * would erase such a disk, and the next deploy could take it for the root device or for an array, when names or sizes are
 * alike. Pure.
 */
export function sparing(properties: JsonObject, { sparedDisks: spared }: Pick<NodeRow, 'sparedDisks'>): JsonObject {
  const listed = properties['skip_block_devices'] ?? [];
  // one that can't be understood stops every step that goes by it
  if (spared === null || spared.length === 0 || !Array.isArray(listed)) return properties;
  return { ...properties, skip_block_devices: [...(listed as readonly unknown[]), ...spared.map(asHints)] };
}

/** What the agent is to go by in a flow of this kind: a wipe says itself what is erased, and nothing else may. */
export function propertiesIn(
  kind: FlowKindName | undefined,
  { properties, sparedDisks: spared }: Pick<NodeRow, 'properties' | 'sparedDisks'>,
): JsonObject {
  return kind === 'wipe' ? properties : sparing(properties, { sparedDisks: spared });
}

function asHints({ serial, wwn }: SparedDisk): JsonObject {
  return {
    ...(serial === null ? {} : { serial: `s== ${serial}` }),
    ...(wwn === null ? {} : { wwn: `s== ${wwn}` }),
  };
}
