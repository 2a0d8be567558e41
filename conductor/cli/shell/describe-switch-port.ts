import type { NodeNetworkAnswer } from '#conductor/api/node-parts.ts';
import { describeVlans, portVlans } from '#conductor/model/port-vlans.ts';

/** Describes what a switch port is set to, or found with; `undefined` where that isn't known. Pure. */
export function describeSwitchPort(
  vlans: NodeNetworkAnswer['ports'][number]['found'],
  bond: string | null,
): string | undefined {
  if (vlans === null) return undefined;
  const text = describeVlans(vlans === 'other' ? vlans : portVlans(vlans.untagged ?? undefined, vlans.tagged));
  return bond === null ? text : `${text} in ${bond}`;
}
