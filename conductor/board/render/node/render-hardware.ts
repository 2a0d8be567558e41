import type { NodeSwitchPort } from '#conductor/api/node-parts.ts';
import { formatMoment } from '#conductor/board/render/clock.ts';
import {
  foreign,
  type Html,
  type HtmlValue,
  html,
  isEmpty,
  joined,
  nothing,
  renderTime,
} from '#conductor/board/render/html.ts';
import { renderTable, type TableRow } from '#conductor/board/render/render-table.ts';
import { describeSwitchPort } from '#conductor/cli/shell/describe-switch-port.ts';
import { formatBytes } from '#conductor/cli/shell/format-units.ts';
import type { DiskHealth, MemoryModule, PciDevice } from '#shared/wire/inventory.ts';

/** Findings of an agent, in so far as they are shown; agents of others may leave any of them out. */
export interface ShownInventory {
  readonly system_vendor?: Record<'manufacturer' | 'product_name' | 'serial_number', string | null> & {
    readonly firmware?: { readonly version?: string | null; readonly build_date?: string | null };
    readonly baton_board?: { readonly manufacturer?: string | null; readonly model?: string | null };
  };
  readonly cpu?: { readonly model_name?: string | null; readonly count?: number | null };
  readonly memory?: {
    readonly physical_mb?: number | null;
    readonly baton_slots?: number | null;
    readonly baton_modules?: readonly Partial<MemoryModule>[] | null;
  };
  readonly baton_pci_devices?: readonly Partial<PciDevice>[] | null;
  readonly baton_accelerators?: readonly Partial<PciDevice>[] | null;
  readonly bmc_address?: string | null;
  readonly baton_bmc_firmware?: string | null;
  readonly disks?: readonly {
    readonly name?: string | null;
    readonly model?: string | null;
    readonly serial?: string | null;
    readonly size?: number | null;
    readonly rotational?: boolean | null;
    readonly baton_firmware?: string | null;
    readonly baton_health?: Partial<DiskHealth> | null;
  }[];
  readonly interfaces?: readonly {
    readonly name?: string | null;
    readonly mac_address?: string | null;
    readonly ipv4_address?: string | null;
    readonly has_carrier?: boolean | null;
    readonly speed_mbps?: number | null;
    readonly baton_firmware?: string | null;
  }[];
}

export interface ShownReceipt {
  readonly id: string;
  readonly signed_at: string;
  readonly disks_wiped: number;
  readonly disks_left_alone: number;
}

export interface Hardware {
  readonly inventory: ShownInventory | undefined;
  /** Ports that Baton sets. */
  readonly switchPorts: readonly NodeSwitchPort[];
  /** Newest first. */
  readonly receipts: readonly ShownReceipt[];
}

/** Hardware as it was last seen, where it is plugged in, and the wipes that are proved. Pure. */
export function renderHardware({ inventory, switchPorts, receipts }: Hardware): Html {
  const columns = ['Port', 'Switch port', 'Network', 'Set to', 'Last seen'];
  const ports = list('Switch ports', columns, switchPorts.map(switchPortRow));
  return html`${ports}${inventory && renderInventory(inventory)}${renderReceipts(receipts)}`;
}

/** The machine in a few lines, with its ports and disks, for who looks at something else. Pure. */
export function renderHardwareFacts({ inventory, switchPorts }: Hardware): Html {
  const facts = inventory ? factsOf(inventory) : [];
  const ports = switchPorts.map(
    (port) =>
      html`<li${port.differs && html` class="failed"`}>${text(port.address)} <small>${text(`${port.switch_id} ${port.port_id}`)}</small> ${text(port.network ?? 'isolated')}${port.differs && ' ✖ differs'}</li>`,
  );
  const disks = listed(inventory?.disks).map(({ name, model, size, baton_health: health }) => {
    const bytes = typeof size === 'number' && formatBytes(size);
    const isFailing = health?.passed === false;
    return html`<li${isFailing && html` class="failed"`}>${text(name)} <small>${text(model)}</small> ${bytes}${isFailing && ' ✖ is failing'}</li>`;
  });
  const part = (title: string, items: readonly Html[]): Html =>
    items.length === 0 ? nothing : html`<h3>${title}</h3><ul class="plain">${items}</ul>`;
  return html`${part(
    'Machine',
    facts.map((fact) => html`<li>${fact}</li>`),
  )}${part('Ports', ports)}${part('Disks', disks)}`;
}

function switchPortRow(port: NodeSwitchPort): TableRow {
  const { address, switch_id: id, port_id: name, network, error, looked_at: at } = port;
  const found = describeSwitchPort(port.found, port.found_bond);
  const when = at !== null && found !== undefined && html` ${renderTime(at, formatMoment(at))}`;
  const seen = error === null ? html`${foreign(found ?? 'not yet')}${when}` : html`not read: ${foreign(error)}`;
  const set = describeSwitchPort(port.wanted, port.wanted_bond) ?? '';
  return {
    ...(port.differs ? { status: 'failed' } : {}),
    cells: [
      text(address),
      text(`${id} ${name}`),
      text(network ?? 'isolated'),
      foreign(set),
      port.differs ? html`<span class="status">✖ ${seen}</span>` : seen,
    ],
  };
}

const text = (value: unknown): Html =>
  typeof value === 'string' || typeof value === 'number' ? foreign(String(value)) : nothing;

function renderInventory(inventory: ShownInventory): Html {
  const { disks = [], interfaces = [], memory, baton_accelerators: accelerators, baton_pci_devices: cards } = inventory;
  const diskRows = disks.map((disk): TableRow => {
    const { name, model, serial, size, rotational, baton_firmware: firmware, baton_health: health } = disk;
    const kind = typeof rotational === 'boolean' ? (rotational ? 'turns' : 'solid state') : '';
    const bytes = typeof size === 'number' ? formatBytes(size) : '';
    return {
      ...(health?.passed === false ? { status: 'failed' } : {}),
      cells: [text(name), text(model), text(serial), bytes, kind, text(firmware), describeHealth(health ?? {})],
    };
  });
  const nicRows = interfaces.map((nic): TableRow => {
    const { name, mac_address: mac, ipv4_address: ip, has_carrier: link, speed_mbps: speed, baton_firmware } = nic;
    const state = link ? `● up${typeof speed === 'number' ? `, ${speed} Mbit/s` : ''}` : '○ down';
    return {
      status: link ? 'working' : 'idle',
      cells: [html`<span class="status">${state}</span>`, text(name), text(mac), text(ip), text(baton_firmware)],
    };
  });
  const facts = factsOf(inventory);
  return html`<h3>Hardware</h3><p>${facts.length === 0 ? 'no more is known than below' : joined(facts, ' · ')}</p>
    ${list('Disks', ['Disk', 'Model', 'Serial', 'Size', 'Kind', 'Firmware', 'Health'], diskRows)}
    ${list('Network', ['Link', 'Interface', 'MAC address', 'Address', 'Firmware'], nicRows)}
    ${list('GPUs and other accelerators', cardColumns, listed(accelerators).map(cardRow))}
    ${fold('memory', 'Memory modules', moduleColumns, listed(memory?.baton_modules).map(moduleRow))}
    ${fold('cards', 'PCI devices', cardColumns, listed(cards).map(cardRow))}`;
}

/** Nobody has checked what a machine says of these. */
function listed<Item>(items: readonly Item[] | null | undefined): readonly Item[] {
  return Array.isArray(items) ? items.filter((item) => typeof item === 'object' && item !== null) : [];
}

function factsOf({ system_vendor: system, cpu, memory, ...rest }: ShownInventory): Html[] {
  const { bmc_address: bmc, baton_bmc_firmware: bmcFirmware } = rest;
  const { baton_board: board, firmware } = system ?? {};
  const megabytes = memory?.physical_mb;
  const slots = memory?.baton_slots;
  const places = typeof slots === 'number' ? ` in ${listed(memory?.baton_modules).length} of ${slots} places` : '';
  const words = (...parts: readonly unknown[]): Html =>
    joined(
      parts.map(text).filter((part) => !isEmpty(part)),
      ' ',
    );
  const [boardName, firmwareName] = [
    words(board?.manufacturer, board?.model),
    words(firmware?.version, firmware?.build_date),
  ];
  return [
    words(system?.manufacturer, system?.product_name),
    system?.serial_number ? html`serial ${text(system.serial_number)}` : nothing,
    isEmpty(boardName) ? nothing : html`board ${boardName}`,
    isEmpty(firmwareName) ? nothing : html`firmware ${firmwareName}`,
    cpu ? html`${text(cpu.count)} × ${text(cpu.model_name)}` : nothing,
    typeof megabytes === 'number' ? html`${Math.round(megabytes / 1024)} GiB of memory${places}` : nothing,
    bmc ? html`BMC at ${text(bmc)}` : nothing,
    bmcFirmware ? html`BMC firmware ${text(bmcFirmware)}` : nothing,
  ].filter((fact) => !isEmpty(fact));
}

function list(title: string, columns: readonly string[], rows: readonly TableRow[]): Html {
  return rows.length === 0 ? nothing : html`<h3>${title}</h3>${renderTable(columns, rows)}`;
}

/** Folds what is long, and seldom looked for. */
function fold(name: string, title: string, columns: readonly string[], rows: readonly TableRow[]): Html {
  if (rows.length === 0) return nothing;
  return html`<details id="hardware-${name}"><summary>${title}: ${rows.length}</summary>${renderTable(columns, rows)}</details>`;
}

const cardColumns = ['Address', 'What', 'Maker', 'Model', 'Driver'];

function cardRow({
  address,
  class: kind,
  vendor,
  vendor_id,
  product,
  product_id,
  driver,
}: Partial<PciDevice>): TableRow {
  return { cells: [text(address), text(kind), text(vendor ?? vendor_id), text(product ?? product_id), text(driver)] };
}

const moduleColumns = ['Place', 'Size', 'Type', 'Runs at', 'Maker', 'Part', 'Serial'];

function moduleRow(module: Partial<MemoryModule>): TableRow {
  const { slot, size_mb: size, type, speed_mts: speed, manufacturer, part_number, serial_number } = module;
  const bytes = typeof size === 'number' ? `${size / 1024} GiB` : '';
  const pace = typeof speed === 'number' ? `${speed} MT/s` : '';
  return { cells: [text(slot), bytes, text(type), pace, text(manufacturer), text(part_number), text(serial_number)] };
}

function describeHealth(health: Partial<DiskHealth>): Html {
  const { passed, percent_used: used, bad_sectors: sectors, media_errors: errors, temperature_c: degrees } = health;
  const number = (value: unknown, unit: string) => typeof value === 'number' && `${value}${unit}`;
  const parts: readonly HtmlValue[] = [
    passed === true ? '✓ passed' : passed === false && html`<span class="status">✖ is failing</span>`,
    number(used, ' % worn'),
    sectors !== 0 && number(sectors, ' bad sectors'),
    errors !== 0 && number(errors, ' media errors'),
    number(degrees, ' °C'),
  ];
  return joined(
    parts.filter((part) => part !== false),
    ', ',
  );
}

function renderReceipts(receipts: readonly ShownReceipt[]): Html {
  if (receipts.length === 0) return nothing;
  const rows = receipts.map(({ id, signed_at: at, disks_wiped: wiped, disks_left_alone: kept }): TableRow => {
    const link = html`<a href="api/v1.0/receipts/${encodeURIComponent(id)}">${id}</a>`;
    return { cells: [link, renderTime(at, formatMoment(at)), String(wiped), String(kept)] };
  });
  return html`<h3>Receipts of wipes</h3>${renderTable(['Receipt', 'Signed', 'Disks wiped', 'Disks left alone'], rows)}`;
}
