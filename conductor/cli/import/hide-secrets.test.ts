import { expect, test } from 'vitest';
import { hideSecretsOf } from '#conductor/cli/import/hide-secrets.ts';

test('a dry run shows no secret of a node, wherever it stands', () => {
  const secrets = ['ipmi_password', 'ipmi_hex_kg_key', 'snmp_auth_key', 'snmp_priv_key', 'snmp_community'];
  const node = {
    name: 'n1',
    driver: 'ipmi',
    fields: {
      driver_info: { ...Object.fromEntries(secrets.map((key) => [key, 'geheim'])), ipmi_address: 'h', ipmi_port: 623 },
      instance_info: {
        image_source: 'https://u:geheim@h/x.qcow2?sig=geheim',
        image_url: 'geheim',
        user_data: 'geheim',
        configdrive: { meta_data: { a: 'geheim' } },
      },
      extra: { login_token: 'geheim', rack: null },
    },
    traits: ['CUSTOM_A'],
    ports: [],
    portgroups: [],
    stateThere: '',
    goal: 'enroll' as const,
    left: [],
  };
  const shown = hideSecretsOf({ source: 'x', nodes: [node], left: ['a'] });
  expect(JSON.stringify(shown)).not.toContain('geheim');
  expect(shown).toMatchObject({
    left: ['a'],
    nodes: [
      {
        traits: ['CUSTOM_A'],
        fields: {
          driver_info: { ipmi_address: 'h', ipmi_port: 623, ipmi_hex_kg_key: '******' },
          instance_info: { user_data: '(6 bytes, not shown)', image_source: 'https://******@h/x.qcow2?sig=******' },
          extra: { rack: null },
        },
      },
    ],
  });
});
