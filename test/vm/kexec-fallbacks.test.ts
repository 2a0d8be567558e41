import { afterAll, beforeAll, expect, test } from 'vitest';
import { deployByKexec, kexecNotes } from '#test/lab/deploy-by-kexec.ts';
import { reportOf } from '#test/lab/deploy-on-each.ts';

/** A system that panics unless GRUB has started it, and a machine that its power button does not reach. */

const panicUnlessByGrub = `[Service]
ExecStartPre=+/bin/sh -c 'grep -q BOOT_IMAGE= /proc/cmdline || echo c > /proc/sysrq-trigger'
`;
const panics = {
  interface: 'deploy',
  step: 'inject_files',
  priority: 70,
  args: {
    files: [
      {
        path: '/etc/systemd/system/baton-beacon.service.d/panics.conf',
        content: Buffer.from(panicUnlessByGrub).toString('base64'),
        mode: '0644',
        dirmode: '0755',
      },
    ],
  },
};

let came: Awaited<ReturnType<typeof deployByKexec>> | undefined;

beforeAll(async () => {
  came = await deployByKexec([
    { name: 'node0', firmware: 'bios', bmc: 'ipmi', deploySteps: [panics] },
    { name: 'node1', firmware: 'uefi', bmc: 'redfish', isDeaf: true },
  ]);
});

afterAll(() => came?.lab.close());

test.each([
  ['node0', 'went on by kexec'],
  ['node1', 'a reboot in place of kexec: the machine was off, and so had not gone into its system by kexec'],
])('%s starts from its disk: %s', (name, note) => {
  const { flow, proofs } = reportOf(came?.outcomes ?? new Map(), name);
  expect(kexecNotes(flow)).toEqual([
    'tear_down_agent: kexec: /vmlinuz of "Debian" is loaded',
    `boot_instance: ${note}`,
  ]);
  expect(proofs.filter((proof) => !proof.holds)).toEqual([]);
  const machine = came?.lab.nodes.find((node) => node.name === name)?.machine;
  expect(machine?.boots.map(([first]) => first)).toEqual(['pxe', 'disk']);
});
