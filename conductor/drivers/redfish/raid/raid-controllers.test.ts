import { expect, test } from 'vitest';
import { createInstantClock, createRigs } from '#conductor/drivers/redfish/testing/rigs.ts';
import { errorCode } from '#shared/errors/app-error.ts';

/** Documents of a BMC that starts, or leads elsewhere: by none of them a volume is gone. */

const { rig } = createRigs();
const times = Number.POSITIVE_INFINITY;
const place = '/redfish/v1/Systems/1/Storage/RAID.Integrated.1-1';
const volume = `${place}/Volumes/Disk.Virtual.0`;
const root = { '@odata.id': '/redfish/v1/', '@odata.type': '#ServiceRoot.v1_5_0.ServiceRoot', Id: 'RootService' };

async function withVolume() {
  const bmc = await rig({ clock: createInstantClock(), quirks: { volumeApplyTimes: ['Immediate'] } });
  const [controller] = (await bmc.raid?.getControllers()) ?? [];
  if (!controller) throw new Error('no controller');
  const drives = controller.drives.slice(0, 2);
  await bmc.raid?.createVolume({ controller, level: '1', drives, name: 'root', sizeBytes: undefined });
  return bmc;
}

test.each([
  ['its name alone', { body: { '@odata.id': volume, Id: 'Disk.Virtual.0', Name: 'root' } }],
  ['that it starts', { body: { '@odata.id': volume, Id: 'Disk.Virtual.0', Name: 'x', Status: { State: 'Starting' } } }],
  ['nulls', { body: { '@odata.id': volume, Id: 'Disk.Virtual.0', RAIDType: null, VolumeType: null, Links: null } }],
  ['the service root', { body: root }],
  ['a redirect to the root', { status: 302, headers: { Location: '/redfish/v1/' } }],
])('a volume of which a BMC answers %s is not passed over', async (_what, fault) => {
  const bmc = await withVolume();
  bmc.simulator.inject({ method: 'GET', path: /Volumes\/./, ...fault, times });
  await expect(bmc.raid?.getControllers()).rejects.toMatchObject({
    code: expect.stringMatching(/^(unavailable|bmc_error)$/) as string,
  });
  bmc.simulator.clearFaults();
  expect((await bmc.raid?.getControllers())?.[0]?.volumes).toMatchObject([{ name: 'root' }]);
});

test('a controller that shows no drives yet has its volumes all the same', async () => {
  const bmc = await withVolume();
  const body = {
    '@odata.id': place,
    Id: 'RAID.Integrated.1-1',
    Drives: [],
    Volumes: { '@odata.id': `${place}/Volumes` },
  };
  bmc.simulator.inject({ method: 'GET', path: /RAID\.Integrated\.1-1$/, body, times });
  const [shown] = (await bmc.raid?.getControllers()) ?? [];
  expect(shown).toMatchObject({ drives: [], volumes: [{ name: 'root', level: '1' }] });
});

test.each([404, 400])(
  'a controller without drives makes no volumes where its collection answers %i',
  async (status) => {
    const bmc = await rig({ clock: createInstantClock() });
    const body = { '@odata.id': place, Id: 'RAID.Integrated.1-1', Volumes: { '@odata.id': `${place}/Volumes` } };
    bmc.simulator.inject({ method: 'GET', path: /RAID\.Integrated\.1-1$/, body, times });
    bmc.simulator.inject({ method: 'GET', path: /RAID.*Volumes$/, status, times });
    expect(await bmc.raid?.getControllers()).toEqual([]);
  },
);

const hidden = ['Starting', 'Updating', 'InTest', 'StandbyOffline', 'UnavailableOffline', 'Deferring'];

test.each(hidden)('a controller that is %s has not said that it has no volumes', async (State) => {
  const bmc = await rig({ clock: createInstantClock() });
  const body = { '@odata.id': place, Id: 'RAID.Integrated.1-1', Name: 'RAID', Status: { State } };
  bmc.simulator.inject({ method: 'GET', path: /RAID\.Integrated\.1-1$/, body, times });
  const error = { code: 'busy', message: `${place} is ${State}: it may have volumes that it does not show` };
  await expect(bmc.raid?.getControllers()).rejects.toMatchObject(error);
});

/** A controller with its drives, whose list of volumes is empty. */
async function withDrives(State: string) {
  const bmc = await rig({ clock: createInstantClock() });
  const body = {
    '@odata.id': place,
    Id: 'RAID.Integrated.1-1',
    Drives: [{ '@odata.id': `${place}/Drives/Disk.Bay.0` }],
    Volumes: { '@odata.id': `${place}/Volumes` },
    Status: { State },
  };
  bmc.simulator.inject({ method: 'GET', path: /RAID\.Integrated\.1-1$/, body, times });
  return bmc;
}

test.each(hidden)('nor has one that is %s and shows its drives', async (State) => {
  const bmc = await withDrives(State);
  await expect(bmc.raid?.getControllers()).rejects.toMatchObject({ code: 'busy' });
});

test.each(['Enabled', 'Quiesced', 'of another word'])('one that is %s has', async (State) => {
  const bmc = await withDrives(State);
  expect((await bmc.raid?.getControllers())?.map(({ volumes }) => volumes)).toEqual([[]]);
});

test.each([
  ['Starting', 'busy'],
  ['Updating', ['root']],
])('what a controller that is %s shows of its volumes: %j', async (State, shown) => {
  const bmc = await withVolume();
  const body = { Id: 'RAID.Integrated.1-1', Volumes: { '@odata.id': `${place}/Volumes` }, Status: { State } };
  bmc.simulator.inject({ method: 'GET', path: /RAID\.Integrated\.1-1$/, body, times });
  const names = bmc.raid
    ?.getControllers()
    .then((all) => all.flatMap(({ volumes }) => volumes.map(({ name }) => name)), errorCode);
  expect(await names).toEqual(shown);
});
