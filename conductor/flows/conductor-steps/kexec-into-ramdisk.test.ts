import { expect, test } from 'vitest';
import { wantsKexecIntoRamdisk } from '#conductor/flows/conductor-steps/kexec-into-ramdisk.ts';
import type { StepContext } from '#conductor/flows/step-context.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { availableNode } from '#test/support/available-node.ts';
import { testSecrets } from '#test/support/test-secrets.ts';

function wants(node: Partial<Pick<NodeRow, 'driverInfo' | 'interfaces'>>, nodeRamdisks = false): Promise<boolean> {
  const row = { ...availableNode('n1'), interfaces: {}, ...node };
  return wantsKexecIntoRamdisk({
    node: { ...row, driver: 'redfish', driverInfo: { ramdisk_boot: 'kexec', ...node.driverInfo } },
    config: { nodeRamdisks },
    secrets: testSecrets,
    step: { output: null },
    signal: new AbortController().signal,
    bmc: () => ({ power: { pressPowerButton: () => undefined, getPowerState: () => Promise.resolve('power on') } }),
  } as unknown as StepContext);
}

const own = { deploy_kernel: 'http://192.0.2.1/ipa.kernel', deploy_ramdisk: 'http://192.0.2.1/ipa.initramfs' };

test('a system is not asked for a ramdisk that comes on a CD, or from elsewhere', async () => {
  expect(await wants({})).toBe(true);
  expect(await wants({ interfaces: { boot: 'http' } })).toBe(true);
  expect(await wants({ interfaces: { boot: 'redfish-virtual-media' } })).toBe(false);
  expect(await wants({ driverInfo: own })).toBe(true);
  expect(await wants({ driverInfo: own }, true)).toBe(false);
  expect(await wants({ driverInfo: { ramdisk_boot: 'power' } })).toBe(false);
});
