import { expect, test } from 'vitest';
import type { PlanView } from '#conductor/api/flows.ts';
import { type NodePlan, renderPlans } from '#conductor/board/render/node/render-plans.ts';
import type { BoardNode } from '#conductor/board/render/render-board.ts';
import { textOf } from '#conductor/board/testing/text-of.ts';

const disk = {
  name: '/dev/vda',
  serial: 'S1',
  model: null,
  size_bytes: 8_000_000_000,
  contents: ['/dev/vda1: ext4 "root"'],
  by: ['deploy.write_image'],
};
const plan: PlanView = {
  node: '11111111-1111-4111-8111-111111111111',
  kind: 'deploy',
  hash: 'ab'.repeat(32),
  complete: true,
  boot_mode: 'uefi',
  reboots: 1,
  predicted_seconds: 75,
  switch_ports: [],
  destroys: [disk],
  steps: [
    {
      position: 1,
      interface: 'deploy',
      step: 'write_image',
      priority: 80,
      origin: 'agent',
      in_band: true,
      args: {},
      reboot_requested: false,
      plugin: null,
      abortable: true,
      reason: 'the image of instance_info',
      predicted_seconds: 60,
    },
  ],
  warnings: ['nothing says where to write'],
};
const hostile = '"><script>';
const node = (name: string) => ({ uuid: plan.node, name }) as BoardNode;
const planned = (name: string, more: Partial<PlanView> = {}): NodePlan => ({
  node: node(name),
  plan: { ...plan, ...more },
  refusal: undefined,
});

test('of one node: what is destroyed, what to know, the steps and why', () => {
  const text = textOf(renderPlans([planned('n1')]));
  expect(text).toContain('Destroys what is on 1 disk');
  expect(text).toContain('n1 /dev/vda S1 8.0 GB /dev/vda1: ext4 &#34;root&#34; deploy.write_image');
  expect(text).toContain('nothing says where to write');
  expect(text).toContain('deploy: 1 steps, about 1 m 15 s');
  expect(text).toContain('1 deploy.write_image agent 1 m 00 s the image of instance_info');
  expect(textOf(renderPlans([planned('n1', { destroys: [] })]))).toContain('No disk that is known of is written to.');
});

test('of many: all disks up to 200, the same warning once, who is left out and why', () => {
  const many = Array.from({ length: 201 }, (_, index) => planned(`n${index}`));
  const refused: NodePlan = { node: node('<b>'), plan: undefined, refusal: 'no <image>' };
  const html = renderPlans([...many, refused]);
  const text = textOf(html);
  expect(text).toContain('Destroys what is on 201 disks');
  expect(text).toContain('and 1 more');
  expect(text).toContain('nothing says where to write (201 nodes)');
  expect(text).not.toContain('why it is there');
  expect(String(html)).toContain('<li><bdi>&#60;b&#62;</bdi>: <bdi>no &#60;image&#62;</bdi></li>');
});

test('where all are refused nothing is said of disks', () => {
  expect(textOf(renderPlans([{ node: node('n1'), plan: undefined, refusal: 'no image' }]))).toBe(
    'Left out, as it would be refused n1 : no image',
  );
});

test('what stays of the image before, of one node and of several', () => {
  const kept = { image: hostile, bytes: 1_900_000_000, of_bytes: 2_000_000_000 };
  const html = renderPlans([planned('n1', { kept })]);
  expect(textOf(html)).toContain('Keeps on the disk up to 1.9 GB (95 % of the image): chunks of image');
  expect(String(html)).not.toContain('<script');
  const several = textOf(renderPlans([planned('n1', { kept }), planned('n2')]));
  expect(several).toContain('Keeps on the disk of n1 up to 1.9 GB');
  expect(several).not.toContain('disk of n2');
});

test('where switch ports will be', () => {
  const port = { address: '52:54:00:00:00:01', switch_id: 'sw', port_id: 'et1', commands: [] };
  const ports = [
    { ...port, network: 'tenant', vlans: 'VLAN 200', found: 'isolated', error: null },
    { ...port, port_id: hostile, network: null, vlans: 'isolated', found: null, error: 'no answer' },
  ];
  const html = renderPlans([planned('n1', { switch_ports: ports })]);
  expect(textOf(html)).toContain('52:54:00:00:00:01 sw et1 isolated tenant, VLAN 200');
  expect(textOf(html)).toContain('not read: no answer isolated');
  expect(String(html)).not.toContain('<script');
});
