import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { request } from 'undici';
import { AppError } from '#shared/errors/app-error.ts';
import { type ChrootProcess, startInChroot } from '#test/interop/start-in-chroot.ts';
import { type ConductorClient, conductorClient } from '#test/lab/conductor-client.ts';
import type { LabSite } from '#test/lab/lab.ts';
import { labAddresses } from '#test/lab/network.ts';
import { waitUntil } from '#test/lab/wait-until.ts';

const { address } = labAddresses.provisioning;
const apiUrl = `http://${address}:6385`;
const filesPort = 8080;

/** Where machines fetch iPXE's scripts, kernels and images; `startSite` must send them there. */
export const ironicBootUrl = `http://${address}:${filesPort}`;

export interface Ironic {
  readonly api: ConductorClient;
  /** Under which the demo image's directory is served. */
  readonly imagesUrl: string;
  /** The ramdisk as a node's `driver_info` names it. */
  readonly ramdisk: { readonly deploy_kernel: string; readonly deploy_ramdisk: string };
  readonly logFile: string;
}

/**
 * The real Ironic, API and conductor in one process on SQLite, in place of our conductor, with a web server for what it
 * makes machines boot. It ends with the site.
 * @param tree Debian 13, see `debian-13.ts`
 */
export async function startIronic(site: LabSite, tree: string): Promise<Ironic> {
  const lab = site.directory;
  const state = join(lab.path, 'ironic');
  for (const folder of ['httpboot/boot', 'httpboot/images', 'httpboot/ramdisk', 'tftpboot', 'images']) {
    mkdirSync(join(state, folder), { recursive: true });
  }
  const settings = join(state, 'ironic.conf');
  writeFileSync(settings, ironicConf);
  const shared = { tree, binds: { [state]: 'var/lib/ironic' } };
  const start = (name: string, argv: readonly string[], more: Partial<ChrootProcess> = {}) => {
    const process = startInChroot(lab, { ...shared, ...more, name, argv });
    site.defer(() => process.stop());
    return process;
  };
  const withSettings = ['--config-file', '/var/lib/ironic/ironic.conf'];
  const schema = await start('ironic-dbsync', ['ironic-dbsync', ...withSettings, 'create_schema']).exited;
  if (schema !== 0) throw new AppError('command_failed', `ironic-dbsync ended with ${schema}, see ${lab.path}`);
  const files = ['-m', 'http.server', '--bind', address, '--directory', '/var/lib/ironic/httpboot', String(filesPort)];
  start('ironic-files', ['python3', ...files], {
    binds: {
      ...shared.binds,
      [resolve('build/os-image')]: 'var/lib/ironic/httpboot/images',
      [resolve('build/ramdisk')]: 'var/lib/ironic/httpboot/ramdisk',
    },
  });
  const ironic = start('ironic', ['ironic', ...withSettings]);
  const api = conductorClient(apiUrl, site.gate);
  await waitUntil(
    'the real Ironic to serve',
    async () => {
      if (!ironic.isRunning()) return 'ended';
      const { drivers } = await api.call<{ readonly drivers: readonly unknown[] }>('GET', '/v1/drivers');
      const page = await request(`${ironicBootUrl}/boot/boot.ipxe`, { dispatcher: site.gate });
      await page.body.dump();
      return drivers.length > 0 && page.statusCode === 200 ? 'serves' : undefined;
    },
    { timeoutMs: 300_000, signal: site.closing },
  ).then((outcome) => {
    if (outcome === 'ended') throw new AppError('command_failed', `Ironic ended at its start, see ${ironic.logFile}`);
  });
  return {
    api,
    imagesUrl: `${ironicBootUrl}/images`,
    ramdisk: {
      deploy_kernel: `${ironicBootUrl}/ramdisk/vmlinuz`,
      deploy_ramdisk: `${ironicBootUrl}/ramdisk/initrd.img`,
    },
    logFile: ironic.logFile,
  };
}

/** Ironic stand-alone, as its installation guide has it: no other OpenStack service, Redfish, iPXE, direct deploy. */
const ironicConf = `[DEFAULT]
auth_strategy = noauth
rpc_transport = none
host = interop
my_ip = ${address}
state_path = /var/lib/ironic
debug = true
use_stderr = true
enabled_hardware_types = redfish
enabled_bios_interfaces = no-bios
enabled_boot_interfaces = ipxe
enabled_console_interfaces = no-console
enabled_deploy_interfaces = direct
enabled_firmware_interfaces = no-firmware
enabled_inspect_interfaces = no-inspect
enabled_management_interfaces = redfish
enabled_network_interfaces = noop
enabled_power_interfaces = redfish
enabled_raid_interfaces = no-raid,agent
enabled_rescue_interfaces = no-rescue
enabled_storage_interfaces = noop
enabled_vendor_interfaces = no-vendor
[agent]
image_download_source = http
deploy_logs_collect = never
[api]
host_ip = ${address}
api_workers = 1
[conductor]
automated_clean = false
disable_zstandard_decompression = true
[database]
connection = sqlite:////var/lib/ironic/ironic.sqlite
[deploy]
http_url = ${ironicBootUrl}/boot
http_root = /var/lib/ironic/httpboot/boot
[dhcp]
dhcp_provider = none
[oslo_concurrency]
lock_path = /var/lib/ironic/lock
[pxe]
tftp_root = /var/lib/ironic/tftpboot
images_path = /var/lib/ironic/images
instance_master_path = /var/lib/ironic/master_images
tftp_master_path = /var/lib/ironic/tftpboot/master_images
kernel_append_params = console=ttyS0,115200
[service_catalog]
auth_type = none
endpoint_override = ${apiUrl}
`;
