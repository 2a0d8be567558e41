import { expect, test } from 'vitest';
import {
  namesImage,
  type SlotState,
  showsInsertion,
  slotState,
  type VirtualMedia,
} from '#conductor/drivers/redfish/media/media-slots.ts';
import { createInstantClock, createRigs } from '#conductor/drivers/redfish/testing/rigs.ts';

const ours = 'http://192.0.2.9/media/one.iso';

const none: VirtualMedia = { Inserted: false, Image: null, ConnectedVia: 'NotConnected' };

test.each<[string, VirtualMedia, SlotState]>([
  ['nothing in it', none, 'empty'],
  ['nothing said', {}, 'empty'],
  ['an empty name', { Inserted: null, Image: ' ', ImageName: '' }, 'empty'],
  ['always inserted', { Inserted: true, Image: null }, 'empty'],
  ['always inserted, not connected', { Inserted: true, Image: null, ConnectedVia: 'NotConnected' }, 'empty'],
  ['a name that was left', { Inserted: null, Image: '\\bogus.iso', ConnectedVia: 'NotConnected' }, 'empty'],
  ['a name that was left, not inserted', { Inserted: false, Image: ours, ConnectedVia: 'NotConnected' }, 'empty'],
  ['a disc', { Inserted: true, Image: ours, ConnectedVia: 'URI' }, 'full'],
  ['a disc, no word of how', { Inserted: true, Image: ours }, 'full'],
  ['a name, no word of more', { Inserted: null, Image: ours }, 'full'],
  ['a file name alone', { Inserted: true, Image: null, ImageName: 'one.iso' }, 'full'],
  ['connected, without a name', { Inserted: true, Image: null, ConnectedVia: 'URI' }, 'full'],
  ["a person's, without a name", { Inserted: true, Image: null, ConnectedVia: 'Applet' }, 'full'],
  ['connected in a way of its maker', { Inserted: null, Image: ours, ConnectedVia: 'Oem' }, 'full'],
  ['not read yet', { Inserted: false, Image: ours, ConnectedVia: 'URI' }, 'unsure'],
  ['not inserted, no word of how', { Inserted: false, Image: ours }, 'unsure'],
  ['inserted and not connected', { Inserted: true, Image: ours, ConnectedVia: 'NotConnected' }, 'unsure'],
])('%s', (_, data, state) => {
  expect(slotState(data)).toBe(state);
});

test.each<[string, VirtualMedia, VirtualMedia, boolean]>([
  ['by its address', none, { Inserted: true, Image: ours, ConnectedVia: 'URI' }, true],
  ['by its address, before it is read', none, { Inserted: false, Image: ours, ConnectedVia: 'URI' }, true],
  ['by its address alone', {}, { Image: ours }, true],
  ['by being full', none, { Inserted: true, Image: null, ConnectedVia: 'URI' }, true],
  ['in words of its own', none, { Inserted: null, Image: '\\one.iso', ConnectedVia: 'URI' }, true],
  ['cut off', none, { Inserted: true, Image: 'http://192.0.2.9/med', ConnectedVia: 'URI' }, true],
  ['with the port', none, { Inserted: true, Image: 'http://192.0.2.9:80/media/one.iso' }, true],
  ['by nothing', none, none, false],
  ['by what it always shows', { Inserted: true }, { Inserted: true }, false],
  ['another image', none, { Inserted: true, Image: 'http://192.0.2.9/media/two.iso', ConnectedVia: 'URI' }, false],
  [
    'by the name that was left',
    { Inserted: null, Image: ours, ConnectedVia: 'NotConnected' },
    { Inserted: null, Image: ours, ConnectedVia: 'NotConnected' },
    false,
  ],
  [
    'by a connection to the name that was left',
    { Inserted: null, Image: ours, ConnectedVia: 'NotConnected' },
    { Inserted: null, Image: ours, ConnectedVia: 'URI' },
    true,
  ],
])('an insertion shows %s', (_, before, after, isShown) => {
  expect(showsInsertion(before, after, ours)).toBe(isShown);
});

test('a login that the BMC hides is the login', () => {
  expect(namesImage({ Image: 'http://***:***@192.0.2.9/a.iso' }, 'http://me:hush@192.0.2.9/a.iso')).toBe(true);
  expect(namesImage({ Image: 'http://***:***@192.0.2.9/b.iso' }, 'http://me:hush@192.0.2.9/a.iso')).toBe(false);
});

const { rig } = createRigs();
const bare = {
  '@odata.id': '/redfish/v1/Managers/1/VirtualMedia/CD',
  Id: 'CD',
  Name: 'CD',
  Status: { State: 'Starting' },
};

test('a drive that a BMC says nothing of is not empty: neither nothing to eject nor ejected', async () => {
  const bmc = await rig({ clock: createInstantClock() });
  await bmc.virtualMedia?.insert(ours);
  bmc.simulator.inject({ method: 'GET', path: /VirtualMedia\/CD$/, body: bare, times: Number.POSITIVE_INFINITY });
  await expect(bmc.virtualMedia?.eject()).rejects.toMatchObject({ code: 'bmc_error' });
  bmc.simulator.clearFaults();
  expect(await bmc.virtualMedia?.list()).toMatchObject([{ image: ours }]);
});

test('drives of a list whose page leads back to itself are there, though not all may be', async () => {
  const bmc = await rig({ clock: createInstantClock() });
  const place = '/redfish/v1/Managers/1/VirtualMedia';
  const body = { Members: [{ '@odata.id': `${place}/CD` }], 'Members@odata.nextLink': place };
  bmc.simulator.inject({ method: 'GET', path: /VirtualMedia$/, body, times: Number.POSITIVE_INFINITY });
  expect(await bmc.virtualMedia?.list()).toHaveLength(1);
});
