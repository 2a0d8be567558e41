import type { SwitchDriver, SwitchTransport } from '#conductor/networks/switch-driver.ts';

const keysOf: Readonly<Record<SwitchTransport, readonly string[]>> = {
  ssh: ['key_file', 'host_key'],
  netconf: ['key_file', 'host_key'],
  https: ['certificate', 'ca_file'],
};
const keysOfAny = ['credential', 'username', 'password_file', 'enable_password_file', 'create_vlans', 'remove_vlans'];

/** Lists faults in how a switch of the networks file is logged in to, each with its path. Pure. */
export function loginFaults(
  path: string,
  { name, transports }: Pick<SwitchDriver, 'name' | 'transports'>,
  entry: Readonly<Record<string, unknown>>,
): string[] {
  const given = (keys: readonly string[]): string[] => keys.filter((key) => entry[key] !== undefined);
  const all = [...keysOfAny, ...new Set(Object.values(keysOf).flat())];
  if (!transports) return given(all).map((key) => `${path}.${key}: driver ${name} does not log in and takes none`);
  const faults: string[] = [];
  const accountFaults = (): string[] => {
    const isAlone = (entry['password_file'] === undefined) !== (entry['key_file'] === undefined);
    return [
      ...(entry['username'] === undefined ? [`${path}.username: driver ${name} needs one, or a credential`] : []),
      ...(transport === 'https' && entry['password_file'] === undefined
        ? [`${path}.password_file: needed over https, or a credential`]
        : []),
      ...(transport === 'https' || isAlone
        ? []
        : [`${path}: driver ${name} needs one of password_file, key_file and credential`]),
    ];
  };
  const { endpoint } = entry;
  const transport = transports.find((each) => typeof endpoint === 'string' && endpoint.startsWith(`${each}:`));
  if (transport === undefined && typeof endpoint === 'string') {
    const forms = transports.map((each) => `${each}:HOST or ${each}:HOST:PORT`).join(', ');
    faults.push(`${path}.endpoint: driver ${name} takes ${forms}`);
  }
  faults.push(
    ...(entry['credential'] === undefined
      ? accountFaults()
      : given(['username', 'password_file', 'key_file']).map(
          (key) => `${path}.${key}: must go, the credential has user and password`,
        )),
  );
  if (transport === 'https' && given(keysOf.https).length === 2) {
    faults.push(`${path}: has both certificate and ca_file; one of them decides`);
  }
  if (transport !== undefined) {
    const idle = given([...new Set(Object.values(keysOf).flat())]).filter((key) => !keysOf[transport].includes(key));
    faults.push(...idle.map((key) => `${path}.${key}: means nothing over ${transport}`));
  }
  if (entry['ports'] === undefined) {
    faults.push(`${path}.ports: driver ${name} needs the ports that may be moved, such as ["Ethernet{1-46}"]`);
  }
  return faults;
}
