import { readVlan } from '#conductor/model/port-vlans.ts';

/** Reads which VLANs the applications are in that run on a switch of Cisco IOS-XE, from `app-hosting appid` sections. Pure. */

const vnic = /^app-vnic App/;
const ofVlan = /^vlan (\S+) guest-interface \S+$/;
/** Addresses of a guest's interface, and that an application's port is a trunk. */
const apart = /^(guest-ipaddress|guest-mac-address|exit$)/;

/** VLANs by name; `unknown` where an application gets frames of any VLAN, or a line is not understood. */
export function vlansOfApps(config: string): ReadonlySet<number> | 'unknown' {
  const vlans = vnicsIn(config).flatMap((lines) => {
    const its = lines.filter((line) => !apart.test(line)).map((line) => readVlan(ofVlan.exec(line)?.[1]));
    return its.length === 0 ? [undefined] : its;
  });
  const known = vlans.filter((vlan) => vlan !== undefined);
  return known.length < vlans.length ? 'unknown' : new Set(known);
}

/** Lines below each `app-vnic AppGigabitEthernet …`: those that are indented further. */
function vnicsIn(config: string): string[][] {
  const found: string[][] = [];
  let depth: number | undefined;
  for (const line of config.split('\n')) {
    const at = line.search(/\S/);
    if (at === -1) continue;
    if (depth !== undefined && at > depth) found.at(-1)?.push(line.trim());
    else if (vnic.test(line.trim())) {
      depth = at;
      found.push([]);
    } else depth = undefined;
  }
  return found;
}
