import { expect, test } from 'vitest';
import type { PlanView } from '#conductor/api/flows.ts';
import { comparePlans, renderComparison } from '#conductor/board/render/node/compare-plans.ts';

type Step = PlanView['steps'][number];
const step = (name: string, more: Partial<Step> = {}): Step => ({
  position: 1,
  interface: 'deploy',
  step: name,
  priority: 80,
  origin: 'core',
  in_band: true,
  args: {},
  reboot_requested: false,
  abortable: true,
  plugin: null,
  reason: '',
  predicted_seconds: null,
  ...more,
});
const disk = (serial: string): PlanView['destroys'][number] => ({
  name: '/dev/sda',
  serial,
  model: null,
  size_bytes: 1,
  contents: ['ext4'],
  by: ['write_image'],
});
const read = (more: Partial<PlanView>, given = {}) => ({
  plan: {
    node: 'u',
    kind: 'deploy',
    hash: 'a'.repeat(64),
    complete: true,
    boot_mode: 'uefi',
    reboots: 1,
    predicted_seconds: null,
    destroys: [],
    steps: [],
    switch_ports: [],
    warnings: [],
    ...more,
  },
  given,
});

test('steps, disks and what they are made from, as they have come, gone and changed', () => {
  const before = read(
    { destroys: [disk('A')], steps: [step('write_image'), step('tune'), step('reboot'), step('reboot')] },
    { instance_info: { image_source: 'http://a', kernel: 'k' } },
  );
  const now = read(
    {
      hash: 'b'.repeat(64),
      boot_mode: 'bios',
      destroys: [disk('B')],
      steps: [step('write_image', { priority: 70 }), step('burn', { args: { hours: 1 } }), step('reboot')],
    },
    { instance_info: { image_source: 'http://b', kernel: 'k' } },
  );
  expect(comparePlans(before, now)).toEqual([
    '~ instance_info.image_source: "http://a" → "http://b"',
    '− destroys disk A',
    '+ destroys disk B: ext4, by write_image',
    '− deploy.tune',
    '− deploy.reboot (2)',
    '~ deploy.write_image: priority 80 → priority 70',
    '+ deploy.burn: priority 80, {"hours":1}',
    '~ boot mode: uefi → bios',
  ]);
});

test('another order is a change, and the same plan none', () => {
  const before = read({ steps: [step('a'), step('b')] });
  const now = read({ hash: 'b'.repeat(64), steps: [step('b'), step('a')] });
  expect(comparePlans(before, now)).toEqual(['~ the order of the steps']);
  expect(String(renderComparison(before, before))).toBe('');
  const secret = renderComparison(before, read({ hash: 'b'.repeat(64), steps: [step('a'), step('b')] }));
  expect(String(secret)).toContain('nothing that is shown');
});

test('what machines and images are called stays text', () => {
  const evil = '<img src=x>';
  const html = renderComparison(
    read({ steps: [step('a')] }, { instance_info: { image_source: evil } }),
    read({ hash: 'b'.repeat(64), steps: [step(evil)], destroys: [disk(evil)] }, { instance_info: { image_source: 1 } }),
  );
  expect(String(html)).toContain('&#60;img');
  expect(String(html)).not.toContain('<img');
});
