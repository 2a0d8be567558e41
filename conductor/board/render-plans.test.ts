import { expect, test } from 'vitest';
import type { PlanView } from '#conductor/api/flows.ts';
import type { BoardNode } from '#conductor/board/render-board.ts';
import { type NodePlan, renderPlans } from '#conductor/board/render-plans.ts';

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
const node = (name: string) => ({ uuid: plan.node, name }) as BoardNode;
const planned = (name: string, more: Partial<PlanView> = {}): NodePlan => ({
  node: node(name),
  plan: { ...plan, ...more },
  refusal: undefined,
});
const textOf = (html: string) =>
  html
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();

test('of one node: what is destroyed, what to know, the steps and why', () => {
  const text = textOf(renderPlans([planned('n1')]));
  expect(text).toContain('Destroys what is on 1 disk');
  expect(text).toContain('n1 /dev/vda S1 8.0 GB /dev/vda1: ext4 &#34;root&#34; deploy.write_image');
  expect(text).toContain('! nothing says where to write');
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
  expect(text).toContain('! nothing says where to write (201 nodes)');
  expect(text).not.toContain('why it is there');
  expect(html).toContain('<li><bdi>&#60;b&#62;</bdi>: <bdi>no &#60;image&#62;</bdi></li>');
});

test('where all are refused nothing is said of disks', () => {
  expect(textOf(renderPlans([{ node: node('n1'), plan: undefined, refusal: 'no image' }]))).toBe(
    'Left out, as it would be refused n1 : no image',
  );
});
