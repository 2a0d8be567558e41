/**
 * A site as Airship's published ones are laid out and written (two servers, one NIC for booting, one with VLANs), by file.
 * Nothing in it is Baton's: images have MAAS's names, no MAC address is known, passphrases are in clear, and YAML is 1.1.
 */

const metadata = (name: string, layer: string, more = ''): string => `metadata:
  schema: metadata/Document/v1
  name: ${name}
  storagePolicy: cleartext
  layeringDefinition: {abstract: false, layer: ${layer}}
${more}`;

const network = (name: string, vlan: number, more = ''): string => `---
schema: 'drydock/Network/v1'
${metadata(name, 'site')}data:
  vlan: '${vlan}'
  mtu: 1500
  cidr: 192.0.2.${(vlan - 40) * 32}/27
  ranges:
    - {type: static, start: 192.0.2.${(vlan - 40) * 32 + 10}, end: 192.0.2.${(vlan - 40) * 32 + 20}}
${more}...
`;

const server = (name: string, host: number, profile: string, tag: string): string => `---
schema: 'drydock/BaremetalNode/v1'
${metadata(name, 'site')}data:
  addressing:
    - {network: oob, address: 198.51.100.${host}}
    - {network: pxe, address: 203.0.113.${host}}
    - {network: oam, address: 192.0.2.${32 + host}}
    - {network: storage, address: 192.0.2.${64 + host}}
  host_profile: ${profile}
  metadata:
    rack: cab7
    tags:
      - '${tag}'
...
`;

export const loopSite: Readonly<Record<string, string>> = {
  'global/layering-policy.yaml': `---
schema: deckhand/LayeringPolicy/v1
metadata: {schema: metadata/Control/v1, name: layering-policy}
data:
  layerOrder: [global, type, site]
...
`,
  'global/profiles/host/dp.yaml': `---
schema: drydock/HostProfile/v1
metadata:
  schema: metadata/Document/v1
  name: data-plane-global
  labels: {hosttype: data-plane}
  storagePolicy: cleartext
  layeringDefinition: {abstract: true, layer: global}
  substitutions:
    - dest: {path: .oob.credential}
      src: {schema: deckhand/Passphrase/v1, name: ipmi_password, path: .}
data:
  oob: {type: 'ipmi', network: 'oob', account: 'root'}
  storage:
    physical_devices:
      sda:
        labels: {bootdrive: 'true'}
        partitions:
          - name: 'root'
            size: '30g'
            bootable: true
            filesystem: {mountpoint: '/', fstype: 'ext4', mount_options: 'defaults'}
  platform:
    image: 'jammy'
    kernel: 'hwe-22.04'
    kernel_params: {console: 'ttyS1,115200n8', hugepages: 0x40, intel_iommu: on}
  metadata:
    owner_data:
      openstack-nova-compute: enabled
      beta.kubernetes.io/fluentd-ds-ready: 'true'
...
`,
  'global/baremetal/bootactions/join.yaml': `---
schema: 'drydock/BootAction/v1'
${metadata('join', 'global')}data:
  signaling: off
  assets:
    - path: /opt/join.sh
      type: file
      permissions: 0755
      location: promenade+http://promenade.example/join?leave_kubectl=true
      data_pipeline: [utf8_decode]
  node_filter:
    filter_set_type: union
    filter_set: [{filter_type: union, node_tags: [workers]}]
...
`,
  'global/software/charts/log.yaml': `---
schema: armada/Chart/v1
metadata:
  schema: metadata/Document/v1
  name: log
  storagePolicy: cleartext
  layeringDefinition: {abstract: false, layer: global}
  substitutions:
    - src: {schema: pegleg/CommonAddresses/v1, name: common-addresses, path: .dns.enabled}
      dest: {path: .values.conf.text, pattern: DNS_ENABLED}
data:
  chart_name: log
  release: log
  wait: {timeout: 1_800}
  values:
    conf: {text: 'dns = DNS_ENABLED'}
    file_mode: 0644
    debug: no
...
`,
  'type/loop/deployment/deployment-strategy.yaml': `---
schema: shipyard/DeploymentStrategy/v1
${metadata('deployment-strategy', 'type')}data:
  groups:
    - name: masters
      critical: yes
      depends_on: []
      selectors: [{node_names: [], node_labels: [], node_tags: [masters], rack_names: []}]
      success_criteria: {percent_successful_nodes: 100}
    - name: workers
      critical: no
      depends_on: [masters]
      selectors: [{node_names: [], node_labels: [], node_tags: [workers], rack_names: []}]
      success_criteria: {percent_successful_nodes: 60}
...
`,
  'type/loop/software-versions.yaml': `---
schema: pegleg/SoftwareVersions/v1
${metadata('software-versions', 'type')}data:
  packages: {repositories: {main_archive: {url: 'http://archive.example/ubuntu', gpgkey: 'none'}}}
...
`,
  'site/loop/site-definition.yaml': `---
schema: pegleg/SiteDefinition/v1
metadata:
  schema: metadata/Document/v1
  name: loop
  storagePolicy: cleartext
  layeringDefinition: {abstract: false, layer: site}
data:
  site_type: loop
...
`,
  'site/loop/baremetal/nodes.yaml': [
    server('loop-control-1', 11, 'control', 'masters'),
    server('loop-compute-1', 12, 'compute', 'workers'),
  ].join(''),
  'site/loop/profiles/host/compute.yaml': `---
schema: drydock/HostProfile/v1
metadata:
  schema: metadata/Document/v1
  name: compute
  storagePolicy: cleartext
  layeringDefinition:
    abstract: false
    layer: site
    parentSelector: {hosttype: data-plane}
    actions:
      - {method: replace, path: .interfaces}
      - {method: replace, path: .storage}
      - {method: merge, path: .}
data:
  hardware_profile: two_socket
  primary_network: oam
  interfaces:
    pxe: {device_link: pxe, slaves: [pxe_nic01], networks: [pxe]}
    data: {device_link: data, slaves: [data_nic01], networks: [oam, storage]}
  storage:
    physical_devices:
      bootdisk:
        labels: {bootdrive: 'true'}
        partitions:
          - {name: 'root', size: '30g', bootable: true, filesystem: {mountpoint: '/', fstype: 'ext4'}}
          - {name: 'var', size: '>100g', filesystem: {mountpoint: '/var', fstype: 'ext4'}}
  platform:
    image: 'jammy'
    kernel: 'ga-22.04'
...
---
schema: drydock/HostProfile/v1
metadata:
  schema: metadata/Document/v1
  name: control
  storagePolicy: cleartext
  layeringDefinition:
    abstract: false
    layer: site
    parentSelector: {hosttype: data-plane}
    actions: [{method: merge, path: .}]
data:
  hardware_profile: two_socket
  interfaces:
    pxe: {device_link: pxe, slaves: [pxe_nic01], networks: [pxe]}
...
`,
  'site/loop/profiles/hardware/two_socket.yaml': `---
schema: 'drydock/HardwareProfile/v1'
${metadata('two_socket', 'site')}data:
  vendor: EXAMPLE
  generation: '8'
  hw_version: '3'
  bios_version: '2.2.3'
  boot_mode: bios
  bootstrap_protocol: pxe
  pxe_interface: 0
  device_aliases:
    pxe_nic01: {address: '0000:01:00.0', dev_type: 'Gigabit', bus_type: 'pci'}
    data_nic01: {address: '0000:43:00.0', dev_type: '10G', bus_type: 'pci'}
    bootdisk: {address: '0:2.0.0', dev_type: 'RAID', bus_type: 'scsi'}
...
`,
  'site/loop/profiles/region.yaml': `---
schema: 'drydock/Region/v1'
metadata:
  schema: metadata/Document/v1
  name: loop
  storagePolicy: cleartext
  layeringDefinition: {abstract: false, layer: site}
  substitutions:
    - dest: {path: '.authorized_keys[0]'}
      src: {schema: deckhand/PublicKey/v1, name: loop_ssh_public_key, path: .}
    - dest: {path: .repositories.main_archive}
      src: {schema: pegleg/SoftwareVersions/v1, name: software-versions, path: .packages.repositories.main_archive}
data:
  tag_definitions: []
  authorized_keys: []
  repositories: {remove_unlisted: true}
...
`,
  'site/loop/networks/physical/networks.yaml': [
    ...['oob', 'pxe'].map(
      (name) => `---
schema: 'drydock/NetworkLink/v1'
${metadata(name, 'site')}data:
  labels: {noconfig: enabled}
  bonding: {mode: disabled}
  mtu: 1500
  linkspeed: auto
  trunking: {mode: disabled, default_network: ${name}}
  allowed_networks: [${name}]
...
---
schema: 'drydock/Network/v1'
${metadata(name, 'site')}data:
  cidr: ${name === 'oob' ? '198.51.100' : '203.0.113'}.0/24
  routes: [{subnet: '0.0.0.0/0', gateway: ${name === 'oob' ? '198.51.100' : '203.0.113'}.1, metric: 100}]
  ranges: [{type: dhcp, start: 203.0.113.40, end: 203.0.113.80}]
...
`,
    ),
    `---
schema: 'drydock/NetworkLink/v1'
${metadata('data', 'site')}data:
  bonding: {mode: disabled}
  mtu: 1500
  linkspeed: auto
  trunking: {mode: 802.1q}
  allowed_networks: [oam, storage]
...
`,
    network(
      'oam',
      41,
      `  routes: [{subnet: 0.0.0.0/0, gateway: 192.0.2.33, metric: 100}]
  dns: {domain: loop.example, servers: '192.0.2.53,192.0.2.54'}
`,
    ),
    network('storage', 42),
  ].join(''),
  'site/loop/networks/common-addresses.yaml': `---
schema: pegleg/CommonAddresses/v1
${metadata('common-addresses', 'site')}data:
  dns: {cluster_domain: cluster.local, enabled: yes}
  ntp: {servers_joined: '0.pool.example,1.pool.example'}
...
`,
  'site/loop/deployment/deployment-configuration.yaml': `---
schema: shipyard/DeploymentConfiguration/v1
${metadata('deployment-configuration', 'site')}data:
  physical_provisioner:
    deployment_strategy: deployment-strategy
    deploy_interval: 30
    deploy_timeout: 3600
    destroy_interval: 30
    destroy_timeout: 900
    join_wait: 0
    prepare_node_interval: 30
    prepare_node_timeout: 1800
    prepare_site_interval: 10
    prepare_site_timeout: 300
    verify_interval: 10
    verify_timeout: 60
  kubernetes_provisioner:
    drain_timeout: 3600
    drain_grace_period: 1800
    clear_labels_timeout: 1800
    remove_etcd_timeout: 1800
    etcd_ready_timeout: 600
  armada:
    get_releases_timeout: 300
    manifest: 'full-site'
...
`,
  'site/loop/secrets/passphrases/ipmi_password.yaml': `---
schema: deckhand/Passphrase/v1
metadata:
  schema: metadata/Document/v1
  name: ipmi_password
  labels: {name: ipmi-password-site}
  storagePolicy: cleartext
  layeringDefinition: {abstract: false, layer: site}
data: loop-ipmi-9f2c
...
`,
  'site/loop/secrets/publickey/loop_ssh_public_key.yaml': `---
schema: deckhand/PublicKey/v1
${metadata('loop_ssh_public_key', 'site')}data: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIexample loop
...
`,
};

/**
 * Documents that a site of Airship's has to be given to be deployed by Baton: what its images' names mean, and what
 * boots.
 */
export const loopAdditions = `---
schema: baton/Images/v1
metadata: {schema: metadata/Document/v1, name: images}
data:
  jammy: {image: 'http://images.example/jammy.qcow2', checksum: 'http://images.example/SHA256SUMS'}
...
`;
