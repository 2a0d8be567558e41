import { afterAll, beforeAll, expect, test } from 'vitest';
import { deployByKexec, kexecNotes } from '#test/lab/deploy-by-kexec.ts';
import { reportOf } from '#test/lab/deploy-on-each.ts';

let came: Awaited<ReturnType<typeof deployByKexec>> | undefined;

beforeAll(async () => {
  came = await deployByKexec([{ name: 'node0', firmware: 'uefi', bmc: 'redfish' }]);
});

afterAll(() => came?.lab.close());

test('deploys by kexec: the system runs on the tenant network, and the firmware has started once', () => {
  const { flow, proofs } = reportOf(came?.outcomes ?? new Map(), 'node0');
  expect(kexecNotes(flow)).toEqual([
    'tear_down_agent: kexec: /vmlinuz of "Debian" is loaded',
    'boot_instance: went on by kexec',
  ]);
  const order = flow.steps.map(({ step }) => step);
  // the port is the tenant's before its system runs
  expect(order.indexOf('switch_to_tenant_network')).toBeLessThan(order.indexOf('boot_instance'));
  expect(proofs.filter((proof) => !proof.holds)).toEqual([]);
  expect(proofs).toHaveLength(5);
  expect(came?.lab.nodes[0]?.machine.boots).toEqual([['pxe', 'disk']]);
});
