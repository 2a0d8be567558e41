import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { KeystoneLogin } from '#conductor/networks/neutron/neutron-settings.ts';
import { neutronWorld, twoPorts } from '#conductor/networks/neutron/testing/neutron-world.ts';

const world = neutronWorld();
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'baton-neutron-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const keystone = async (as: KeystoneLogin['as'], secret = 'open sesame'): Promise<KeystoneLogin> => {
  const secretFile = join(folder, 'secret');
  await writeFile(secretFile, `${secret}\n`, { mode: 0o600 });
  world.neutron.state.keystone = { username: 'ironic', password: 'open sesame' };
  return { url: `${world.neutron.url}/v3`, region: 'here', secretFile, as };
};
const byPassword = { username: 'ironic', userDomain: 'Default', project: 'service', projectDomain: 'Default' };

test.each([byPassword, { applicationCredential: 'ironic' }])(
  'a token is asked for once, and the catalogue for Neutron: %j',
  async (as) => {
    const by = world.connectTo({ url: undefined, keystone: await keystone(as) });
    await world.go({ purpose: 'provisioning' }, twoPorts, by);
    await world.go('isolated', twoPorts, by);
    expect(world.neutron.requests.filter((each) => each.includes('/auth/tokens'))).toHaveLength(1);
  },
);

test('a token that was taken back is replaced; a wrong password is told without it', async () => {
  const by = world.connectTo({ url: undefined, keystone: await keystone(byPassword) });
  await world.go({ purpose: 'provisioning' }, twoPorts, by);
  world.neutron.state.tokens.clear();
  await world.go('isolated', twoPorts, by);
  expect(world.allPorts()).toEqual([]);
  const wrong = world.connectTo({ url: undefined, keystone: await keystone(byPassword, 'wrong') });
  await expect(world.go('isolated', twoPorts, wrong)).rejects.toMatchObject({ code: 'switch_error', retryable: false });
  await expect(world.go('isolated', twoPorts, wrong)).rejects.toThrow('gives no token: HTTP 401');
});
