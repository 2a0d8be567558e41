import { expect, test } from 'vitest';
import { parseNetworksFile } from '#conductor/networks/networks-file.ts';
import { requireAttachable } from '#conductor/networks/require-attachable.ts';

const networks = parseNetworksFile(
  `
networks:
  provisioning: {vlan: 100}
  blue: {vlan: 200, projects: [team-a, team-b]}
defaults: {provisioning: provisioning, cleaning: provisioning, tenant: blue}
`,
  'networks.yaml',
  [],
);

test.each([
  ['blue', 'team-a'],
  ['blue', undefined],
  ['provisioning', undefined],
])('%s is for project %s', (name, project) => {
  expect(() => requireAttachable(networks, name, { project })).not.toThrow();
});

test('a project learns no more than that a network is not its own', () => {
  const refusal = (name: string) => `baremetal:node:vif:attach (id: project team-c has no network '${name}';`;
  for (const name of ['blue', 'provisioning', 'nowhere']) {
    expect(() => requireAttachable(networks, name, { project: 'team-c' })).toThrow(refusal(name));
  }
});

test('an operator is told which networks there are', () => {
  expect(() => requireAttachable(networks, 'nowhere', { project: undefined })).toThrow('has provisioning, blue');
});
