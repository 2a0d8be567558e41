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

interface ToSwitch {
  readonly ask: (commands: readonly string[]) => Promise<readonly string[]>;
  readonly read: () => Promise<SwitchSnapshot>;
  /** Has the switch take up these lines. */
  readonly run: (lines: readonly string[]) => Promise<void>;
}

/**
 * Removes VLANs that Baton has created and no port is in, once a change is proved. It never throws: the ports are where they
 * should be, and a later change tries again what the switch refuses.
 */
export async function removeVlans(change: Change, toSwitch: ToSwitch): Promise<void> {
  const { access, rows } = change;
  const { removeVlan } = rows;
  if (!access.removeVlans || !removeVlan) return;
  const remove = async (vlans: readonly number[]): Promise<void> => {
    try {
      await toSwitch.run(vlans.flatMap(removeVlan.lines));
    } catch (error) {
      // one that is refused must not keep the others
      if (vlans.length > 1 && !isRetryable(error)) for (const vlan of vlans) await remove([vlan]);
      else access.onVlansKept?.(vlans, error);
    }
  };
  try {
    const unused = await vlansToRemove(change, removeVlan, toSwitch);
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
  { ask, read }: ToSwitch,
): Promise<readonly number[]> {
  const isPort = (portId: string): boolean => os.portId.test(portId);
  const uplinks = { patterns: access.uplinks ?? [], count: uplinksKeep === true };
  const used = vlansInUse({ ...snapshot, uplinks, isPort }, settings, found, rows.bonds?.name);
  if (used === 'unknown') return [];
  const unused = [...findOwn(await ask(commands))].filter((vlan) => !used.has(vlan));
  if (unused.length === 0) return [];
  // somebody else may have put a port into one while the change was proved
  const usedNow = vlansInUse({ ...(await read()), uplinks, isPort }, [], []);
  return usedNow === 'unknown' ? [] : unused.filter((vlan) => !usedNow.has(vlan));
}
