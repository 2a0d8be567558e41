import type { SwitchAccess, SwitchPortSetting, SwitchPortState } from '#conductor/networks/switch-driver.ts';
import type {
  SwitchOs,
  SwitchRows,
  SwitchSnapshot,
  VlanRemoval,
} from '#conductor/networks/switches/command-line/switch-os.ts';
import { vlansInUse } from '#conductor/networks/switches/command-line/vlans-in-use.ts';
import { isRetryable } from '#shared/errors/app-error.ts';

interface Change {
  readonly os: SwitchOs;
  readonly rows: SwitchRows;
  readonly access: SwitchAccess;
  readonly settings: readonly SwitchPortSetting[];
  /** Before it. */
  readonly snapshot: SwitchSnapshot;
  readonly found: readonly SwitchPortState[];
}

/**
 * Removes VLANs that Baton has created and no port is in, once a change is proved. It never throws: the ports are where they
 * should be, and a later change tries again what the switch refuses.
 *
 * @param ask for answers
 * @param run has the switch take up these lines
 */
export async function removeVlans(
  change: Change,
  ask: (commands: readonly string[]) => Promise<readonly string[]>,
  run: (lines: readonly string[]) => Promise<void>,
): Promise<void> {
  const { access, rows } = change;
  const { removeVlan } = rows;
  if (!access.removeVlans || !removeVlan) return;
  const remove = async (vlans: readonly number[]): Promise<void> => {
    try {
      await run(vlans.flatMap(removeVlan.lines));
    } catch (error) {
      // one that is refused must not keep the others
      if (vlans.length > 1 && !isRetryable(error)) for (const vlan of vlans) await remove([vlan]);
      else access.onVlansKept?.(vlans, error);
    }
  };
  try {
    const unused = await vlansToRemove(change, removeVlan, ask);
    // without a transaction some of them may be gone when one is refused
    for (const vlans of rows.transaction ? [unused] : unused.map((vlan) => [vlan]))
      if (vlans.length > 0) await remove(vlans);
  } catch (error) {
    access.onVlansKept?.([], error);
  }
}

async function vlansToRemove(
  { os, rows, access, settings, snapshot, found }: Change,
  { commands, findOwn, uplinksKeep }: VlanRemoval,
  ask: (commands: readonly string[]) => Promise<readonly string[]>,
): Promise<readonly number[]> {
  const isPort = (portId: string): boolean => os.portId.test(portId);
  const uplinks = { patterns: access.uplinks ?? [], count: uplinksKeep === true };
  const used = vlansInUse({ ...snapshot, uplinks, isPort }, settings, found, rows.bonds?.name);
  if (used === 'unknown') return [];
  return [...findOwn(await ask(commands))].filter((vlan) => !used.has(vlan));
}
