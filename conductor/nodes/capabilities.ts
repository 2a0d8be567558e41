/**
 * Ironic's capabilities, `name:value,name:value`, with one of them replaced. An object, which some operators write in
 * its place, becomes text too.
 */
export function withCapability(capabilities: unknown, name: string, value: string): string {
  const others = listed(capabilities)
    .map((each) => each.trim())
    .filter((each) => each !== '' && !each.startsWith(`${name}:`));
  return [...others, `${name}:${value}`].join(',');
}

function listed(capabilities: unknown): readonly string[] {
  if (typeof capabilities === 'string') return capabilities.split(',');
  if (typeof capabilities !== 'object' || capabilities === null) return [];
  return Object.entries(capabilities).map(([key, value]) => `${key}:${String(value)}`);
}
