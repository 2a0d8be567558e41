import { expect, test } from 'vitest';
import type { PlanView } from '#conductor/api/flows.ts';
import { renderPlan } from '#conductor/cli/nodes/deploy-commands.ts';

const step = {
  position: 1,
  interface: 'raid',
  step: 'apply_configuration',
  priority: 90,
  origin: 'template',
  in_band: true,
  args: { raid_config: {} },
  reboot_requested: false,
  plugin: null,
  abortable: true,
  reason: 'template CUSTOM_RAID1 gives it priority 90',
  predicted_seconds: 12.34,
};
const plan: PlanView = {
  node: '11111111-1111-4111-8111-111111111111',
  kind: 'deploy',
  hash: 'ab'.repeat(32),
  complete: true,
  boot_mode: 'uefi',
  reboots: 1,
  predicted_seconds: 75,
  switch_ports: [
    {
      address: '52:54:00:00:00:01',
      switch_id: 'leaf1',
      port_id: 'Ethernet1',
      network: 'blue',
      vlans: 'VLAN 300',
      found: 'isolated',
      commands: ['interface Ethernet1', 'switchport access vlan 300'],
      error: null,
    },
    {
      address: '52:54:00:00:00:02',
      switch_id: 'leaf2',
      port_id: 'Ethernet1',
      network: null,
      vlans: 'isolated',
      found: null,
      commands: [],
      error: 'switch leaf2 did not answer in 5 s',
    },
  ],
  destroys: [
    {
      name: '/dev/vda',
      serial: 'S1',
      model: null,
      size_bytes: 8_000_000_000,
      contents: ['/dev/vda1: ext4 "root"'],
      by: ['raid.apply_configuration'],
    },
  ],
  steps: [
    step,
    {
      ...step,
      position: 2,
      interface: 'deploy',
      step: 'boot_instance',
      priority: 20,
      in_band: false,
      args: {},
      reason: "the conductor's own step",
      predicted_seconds: null,
      reboot_requested: true,
    },
  ],
  warnings: ['The disks are not known.'],
};

test('a plan says what, why, what is lost, and its hash', () => {
  expect(renderPlan(plan)).toBe(
    [
      '#  prio  step                      by     about   why it is there',
      '1  90    raid.apply_configuration  agent  12.3 s  template CUSTOM_RAID1 gives it priority 90',
      "2  20    deploy.boot_instance                     the conductor's own step (then reboots)",
      '',
      'arguments:',
      '  1  raid.apply_configuration  {"raid_config":{}}',
      '',
      'switch ports while the instance runs:',
      '  52:54:00:00:00:01  leaf1 Ethernet1  blue  VLAN 300  now isolated',
      '  52:54:00:00:00:02  leaf2 Ethernet1  -     isolated  not read',
      '',
      'from what they are now, the switches are sent:',
      '  interface Ethernet1',
      '  switchport access vlan 300',
      '',
      'switches that could not be read:',
      '  ! switch leaf2 did not answer in 5 s',
      '',
      'DESTROYS what is on:',
      '  /dev/vda  S1  -  8.0 GB  /dev/vda1: ext4 "root"  by raid.apply_configuration',
      '',
      'deploy: 2 steps, 1 reboot, uefi boot, about 1 m 15 s',
      '',
      '! The disks are not known.',
      '',
      `hash ${plan.hash}`,
      '',
    ].join('\n'),
  );
});

test('what is not known is not made up', () => {
  const text = renderPlan({
    ...plan,
    steps: [],
    destroys: [],
    switch_ports: [],
    warnings: [],
    predicted_seconds: null,
    reboots: 0,
  });
  expect(text).toContain('deploy: 0 steps, 0 reboots, uefi boot, time not known');
  expect(text).not.toContain('DESTROYS');
});

test('a plan says what stays of the image before', () => {
  const kept = { image: 'debian-12', bytes: 1_900_000_000, of_bytes: 2_000_000_000 };
  expect(renderPlan({ ...plan, kept })).toContain(
    '\nKEEPS on the disk up to 1.9 GB (95 % of the image): chunks of image debian-12, which was written last\n',
  );
});
