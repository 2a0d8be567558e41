import { accounts, password, region } from '#test/interop/upstream/keystone.ts';

/** tempest's settings: Ironic alone, with the hardware type that needs no machines. */
export function tempestConf(keystone: string): string {
  const absent = ['cinder', 'glance', 'horizon', 'neutron', 'nova', 'swift'].map((name) => `${name} = false`);
  return `
[DEFAULT]
log_dir = /home/logs
[oslo_concurrency]
lock_path = /tmp
[auth]
use_dynamic_credentials = false
test_accounts_file = /home/accounts.yaml
[identity]
uri_v3 = ${keystone}
auth_version = v3
region = ${region}
[service_available]
ironic = true
${absent.join('\n')}
[baremetal]
driver = fake-hardware
enabled_hardware_types = fake-hardware,ipmi
enabled_drivers = fake-hardware
enabled_bios_interfaces = fake,no-bios
enabled_boot_interfaces = fake,ipxe,pxe
enabled_console_interfaces = fake,no-console
enabled_deploy_interfaces = fake,direct
enabled_inspect_interfaces = fake,no-inspect
enabled_management_interfaces = fake,ipmitool
enabled_power_interfaces = fake,ipmitool
enabled_raid_interfaces = fake,no-raid,agent
enabled_rescue_interfaces = fake,no-rescue
`;
}

export const tempestAccounts = Object.entries(accounts)
  .map(([name, account]) => {
    const place = 'project' in account ? { project_name: account.project } : { system: 'all' };
    const role = name.split('-')[1];
    return `- ${JSON.stringify({ username: name, user_domain_name: 'Default', password, ...place, ...('project' in account ? { project_domain_name: 'Default' } : {}), roles: [role] })}`;
  })
  .join('\n');

/** For all the clouds that openstacksdk's tests open. */
export function cloudsYaml(keystone: string): string {
  const cloud = {
    auth_type: 'password',
    auth: { auth_url: keystone, username: 'system-admin', password, user_domain_name: 'Default', system_scope: 'all' },
    region_name: region,
  };
  const names = ['devstack', 'devstack-alt', 'devstack-admin', 'devstack-system-admin'];
  return JSON.stringify({ clouds: Object.fromEntries(names.map((name) => [name, cloud])) });
}
