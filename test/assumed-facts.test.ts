import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findAssumedFacts, readers } from './house/assumed-facts.ts';
import { isProduct, readSources } from './house/read-sources.ts';

/** How many such places a file may have, and why each of them takes nothing unknown for a fact. */
const allowed: Readonly<Record<string, readonly [most: number, because: string]>> = {
  'agent/boot/deployed-system.ts': [1, 'words of a message'],
  'agent/boot/grub-configuration.ts': [1, "GRUB's own default, of a setting that is absent"],
  'agent/erase/ata-security.ts': [1, 'a time limit, where the disk gives none'],
  'agent/erase/hidden-sectors.ts': [2, '0 sectors: the disk has not said, and is refused'],
  'agent/erase/require-erasable.ts': [1, 'compares all that there are, which are two'],
  'agent/hardware/select-steps.ts': [1, "the step's own priority"],
  'agent/storage/device-identity.ts': [3, 'the one to show; all are compared'],
  'agent/storage/lsblk.ts': [5, 'a disk of 0 bytes is neither chosen nor erased; lsblk always has sector sizes'],
  'agent/storage/mbr-entry.ts': [1, 'no number finds no place'],
  'agent/storage/sfdisk.ts': [1, 'partition 0 is none'],
  'agent/storage/storage-claims.ts': [2, 'no array: its data begin at once'],
  'conductor/cluster/etcd/etcd-tls.ts': [1, "the scheme's port, of an address"],
  'conductor/cluster/journal.ts': [1, 'what was announced is begun'],
  'conductor/cluster/kubernetes/disruption-budgets.ts': [2, 'a budget that has not been judged lets nobody go'],
  'conductor/cluster/kubernetes/drain-node.ts': [1, 'Kubernetes leaves out 0 seconds'],
  'conductor/cluster/kubernetes/share-cluster.ts': [1, 'a cluster of its own, that is not open'],
  'conductor/drivers/ipmi/boot-device.ts': [1, 'words of a device that is not none'],
  'conductor/drivers/ipmi/driver-info.ts': [1, 'no bridging, of a field that is absent; other words are refused'],
  'conductor/drivers/reach-power-target.ts': [1, 'words of a message'],
  'conductor/drivers/redfish/bios-resource.ts': [1, 'words of a message'],
  'conductor/drivers/redfish/boot-plans.ts': [1, 'words of a message'],
  'conductor/drivers/redfish/sending.ts': [1, 'tries that an answer is worth: of another, none'],
  'conductor/drivers/redfish/console.ts': [1, "SSH's port, which the standard lets out"],
  'conductor/drivers/redfish/hardware.ts': [1, 'a name to show'],
  'conductor/drivers/redfish/media-bodies.ts': [2, 'written: the login that a BMC asks for, of a URL without'],
  'conductor/drivers/redfish/media-slots.ts': [1, 'words of a message'],
  'conductor/drivers/redfish/raid.ts': [2, 'a drive of 0 bytes is large enough for no volume of a size'],
  'conductor/drivers/redfish/system.ts': [1, 'a system has one BMC; others are of its enclosure'],
  'conductor/networks/switches/command-line/change-lines.ts': [3, 'bond 0: of a port that is in none'],
  'conductor/networks/switches/command-line/named-elsewhere.ts': [1, 'puts names in an order, of which one is shorter'],
  'conductor/networks/switches/https/eapi.ts': [1, "the command that eAPI's own list begins with"],
  'conductor/networks/switches/netconf/netconf-session.ts': [1, 'words of a message'],
  'conductor/networks/switches/os/aos-cx-rest.ts': [1, 'written, not read'],
  'conductor/networks/switches/os/aos-cx.ts': [1, 'AOS-CX leaves out VLAN 1'],
  'conductor/networks/switches/os/linux.ts': [1, 'Linux has one link of a name'],
  'conductor/networks/switches/os/sonic.ts': [1, "SONiC's own default, of a field that it leaves out"],
  'conductor/nodes/inspection/parse-lldp.ts': [4, 'bytes behind the end: of a value that is then too short'],
  'shared/disks/root-device-hints.ts': [1, 'words of a message'],
  'conductor/nodes/inspection/plan-inspection.ts': [1, 'words of a message'],
};

test('what was not read is not taken for a fact', async () => {
  const sources = (await readSources(join(import.meta.dirname, '..'))).filter(isProduct);
  const looked = sources.filter(({ path }) => readers.some((folder) => path.startsWith(folder)));
  expect(looked.length).toBeGreaterThan(150);
  const excess = looked.flatMap(({ path, text }) => {
    const found = findAssumedFacts(text);
    return found.length > (allowed[path]?.[0] ?? 0) ? found.map((line) => `${path}: ${line}`) : [];
  });
  // let the type have a value for it, `undefined` or `unknown`, and refuse what would follow
  expect(excess).toEqual([]);
});

test('the list of those that may is short, and of files that there are', async () => {
  const paths = new Set((await readSources(join(import.meta.dirname, '..'))).map(({ path }) => path));
  expect(Object.keys(allowed).filter((path) => !paths.has(path))).toEqual([]);
  expect(Object.keys(allowed).length).toBeLessThan(40);
});

test.each([
  "vlans: state ?? 'isolated',",
  'const native = found ?? 1;',
  'sizeBytes: Number(size ?? 0),',
  "const mode = bond.mode || 'none';",
  'const name = disk.links.find((link) => link.startsWith(prefix));',
  'const [serial] = [disk.serials[0]];',
  'const system = data.Members[0];',
])('%s takes it for one', (line) => {
  expect(findAssumedFacts(line)).toEqual([line]);
});

test.each([
  "vlans: state ?? 'unknown',",
  "vlans: snapshot.ports.get(portId) ?? 'other',",
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a line of a source
  "throw new Error(`it has ${names.join() || 'none'}`);",
  'const count = (seen.get(name) ?? 0) + 1;',
  'const retryMs = options.retryMs ?? 1000;',
  '// the first is the one: links[0]',
])('%s does not', (line) => {
  expect(findAssumedFacts(line)).toEqual([]);
});
