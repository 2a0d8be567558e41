import { afterEach, describe, expect, test } from 'vitest';
import { differenceFromDmtf } from '#test/simulators/redfish/dmtf-shapes.ts';
import type { Quirks } from '#test/simulators/redfish/faults.ts';
import { createMemoryMachine } from '#test/simulators/redfish/machine.ts';
import { type RedfishSimulator, startRedfishSimulator } from '#test/simulators/redfish/simulator.ts';
import { vendorNames, vendors } from '#test/simulators/redfish/vendors.ts';

/** Whether the simulated BMCs answer as DMTF's schemas say, so that what Baton makes of them is worth something. */

const authorization = `Basic ${Buffer.from('admin:secret').toString('base64')}`;
const open = new Set<RedfishSimulator>();
afterEach(async () => {
  for (const each of open) await each.close();
  open.clear();
});

async function start(quirks: Partial<Quirks>) {
  const simulator = await startRedfishSimulator({
    machine: createMemoryMachine(),
    username: 'admin',
    password: 'secret',
    quirks,
  });
  open.add(simulator);
  return async (path: string, method = 'GET', body?: object): Promise<string> => {
    const response = await fetch(`${simulator.address}${path}`, {
      method,
      headers: { authorization },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return response.text();
  };
}

/** All that can be reached, by path. */
async function readAll(call: (path: string) => Promise<string>): Promise<ReadonlyMap<string, unknown>> {
  const found = new Map<string, unknown>();
  const visit = async (path: string): Promise<void> => {
    if (found.has(path)) return;
    const answer = await call(path);
    found.set(path, JSON.parse(answer));
    const links = [...answer.matchAll(/"(?:@odata\.id|Uri|@Redfish\.ActionInfo)":"([^"#]+)/g)];
    for (const [, link = ''] of links) await visit(link);
  };
  await visit('/redfish/v1/');
  return found;
}

const differences = (bodies: ReadonlyMap<string, unknown>): readonly string[] =>
  [...bodies].flatMap(([path, body]) => {
    const difference = differenceFromDmtf(body);
    return difference === undefined ? [] : [`${path}: ${difference}`];
  });

const variants: readonly (readonly [string, Partial<Quirks>])[] = [
  ['the standard one', {}],
  ['one with settings places and action info', { bootViaSettings: true, actionInfo: true, locationIndicator: true }],
  ['one with sensors by themselves', { sensors: 'one by one' }],
  ['one that takes raw images', { rawPush: true, rawPushTargets: ['/redfish/v1/Managers/1'] }],
  ['one that verifies image servers', { media: { imageAuthority: 'PEM' } }],
  ...vendorNames.map((vendor) => [vendor, vendors[vendor]] as const),
];

test.each(variants)('%s answers as the schemas say', async (_, quirks) => {
  const bodies = await readAll(await start(quirks));
  expect(bodies.size).toBeGreaterThan(40);
  expect(differences(bodies)).toEqual([]);
});

test('what is made, filled, set and refused is as the schemas say, and so are tasks', async () => {
  const call = await start({ tasks: true });
  const controller = '/redfish/v1/Systems/1/Storage/RAID.Integrated.1-1';
  const drives = [0, 1].map((bay) => ({ '@odata.id': `${controller}/Drives/Disk.Bay.${bay}` }));
  const image = 'http://192.0.2.9/one.iso';
  const insert = '/redfish/v1/Managers/1/VirtualMedia/CD/Actions/VirtualMedia.InsertMedia';
  const asked: readonly (readonly [string, string, object])[] = [
    ['POST', `${controller}/Volumes`, { RAIDType: 'RAID1', Links: { Drives: drives } }],
    ['POST', '/redfish/v1/EventService/Subscriptions', { Destination: image, Protocol: 'Redfish', Context: 'x' }],
    ['POST', insert, { Image: image }],
    ['POST', '/redfish/v1/UpdateService/Actions/UpdateService.SimpleUpdate', { ImageURI: 'http://192.0.2.9/b-2.bin' }],
    ['PATCH', '/redfish/v1/Systems/1/Bios/Settings', { Attributes: { NumCores: 4 } }],
    ['PATCH', '/redfish/v1/Systems/1', { Boot: { BootSourceOverrideTarget: 'Pxe' } }],
    ['PATCH', '/redfish/v1/Systems/1', { Model: 'refused' }],
    ['POST', '/redfish/v1/Systems/1/Actions/ComputerSystem.Reset', { ResetType: 'Nmi' }],
  ];
  const answers = new Map<string, unknown>();
  for (const [index, [method, path, body]] of asked.entries()) {
    const answer = await call(path, method, body);
    if (answer !== '') answers.set(`${index} ${method} ${path}`, JSON.parse(answer));
  }
  expect(answers.size).toBeGreaterThan(4);
  expect(differences(answers)).toEqual([]);
  expect(differences(await readAll(call))).toEqual([]);
});

describe('an answer is no valid one', () => {
  const type = '#Manager.v1_11_0.Manager';
  const manager = { '@odata.id': '/redfish/v1/Managers/1', '@odata.type': type, Id: '1', Name: 'Manager' };
  test.each<[string, object, string]>([
    ['without what it must have', { ...manager, Id: undefined }, 'expected string, received undefined'],
    ['with a property that DMTF has not', { ...manager, Firmware: '1.0' }, 'Unrecognized key: "Firmware"'],
    ['with a word that DMTF has not', { ...manager, PowerState: 'Standby' }, 'expected one of "On"'],
    ['with a link that leads away', { ...manager, VirtualMedia: { '@odata.id': 'https://192.0.2.1/' } }, 'must start'],
    ['of a type without a version', { ...manager, '@odata.type': '#Manager.1.0.0.Manager' }, 'names no schema'],
    ['of a type that nobody looked up', { ...manager, '@odata.type': '#Fan.v1_0_0.Fan' }, 'the schema of Fan'],
    ['of an error without words', { error: { code: 'Base.1.0.GeneralError' } }, 'the error: '],
  ])('%s', (_, body, words) => {
    expect(differenceFromDmtf(manager)).toBeUndefined();
    expect(differenceFromDmtf(JSON.parse(JSON.stringify(body)))).toContain(words);
  });
});
