import { apiVersionOf, type ResourceType, resourceTypes } from '#test/simulators/kubernetes/resource.ts';

const verbs = ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'];

/**
 * Answers what clients ask first: groups, versions, resources. The eviction stands beside pods with the version that a
 * cluster of that age has.
 * @returns the body, or `undefined` for other paths
 */
export function discover(path: string, eviction: 'v1' | 'v1beta1'): Record<string, unknown> | undefined {
  const parts = path.split('/').filter((part) => part !== '');
  if (path === '/version') {
    const minor = eviction === 'v1' ? '27' : '20';
    return { major: '1', minor, gitVersion: `v1.${minor}.0`, platform: 'linux/amd64', goVersion: 'go1.20' };
  }
  if (path === '/api') return { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] };
  if (path === '/apis') return { kind: 'APIGroupList', apiVersion: 'v1', groups: groups().map(groupEntry(eviction)) };
  if (parts[0] === 'api' && parts.length === 2) return resourceList('', 'v1', eviction);
  if (parts[0] !== 'apis' || parts[1] === undefined || !groups().includes(parts[1])) return undefined;
  if (parts.length === 2) return { kind: 'APIGroup', apiVersion: 'v1', ...groupEntry(eviction)(parts[1]) };
  return parts.length === 3 ? resourceList(parts[1], parts[2] ?? '', eviction) : undefined;
}

function groups(): string[] {
  return [...new Set(resourceTypes.map(({ group }) => group).filter((group) => group !== ''))];
}

function groupEntry(eviction: 'v1' | 'v1beta1') {
  return (name: string): Record<string, unknown> => {
    const version = name === 'policy' ? eviction : 'v1';
    const versions = [{ groupVersion: `${name}/${version}`, version }];
    return { name, versions, preferredVersion: versions[0] };
  };
}

function resourceList(group: string, version: string, eviction: 'v1' | 'v1beta1'): Record<string, unknown> {
  const ofGroup = resourceTypes.filter((type) => type.group === group);
  const resources = ofGroup.map(resourceEntry);
  if (group === '') {
    resources.push({
      name: 'pods/eviction',
      singularName: '',
      namespaced: true,
      group: 'policy',
      version: eviction,
      kind: 'Eviction',
      verbs: ['create'],
    });
  }
  const groupVersion = group === '' ? version : `${group}/${version}`;
  return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion, resources };
}

function resourceEntry(type: ResourceType): Record<string, unknown> {
  const { plural, kind, namespaced, shortNames } = type;
  return { name: plural, singularName: '', namespaced, kind, verbs, shortNames, groupVersion: apiVersionOf(type) };
}
