// Debian's gophercloud on a conductor, in the order of metal3's baremetal-operator (pkg/provisioner/ironic): version
// document, drivers, a node found by name or made, its port, validation, manage, inspect, an allocation, a deploy with
// config drive, and away again. Reads {endpoint, user, password, driver_info, mac, instance_info} on standard input;
// what was seen comes as JSON lines [what, value].
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/gophercloud/gophercloud"
	"github.com/gophercloud/gophercloud/openstack/baremetal/apiversions"
	"github.com/gophercloud/gophercloud/openstack/baremetal/httpbasic"
	"github.com/gophercloud/gophercloud/openstack/baremetal/v1/allocations"
	"github.com/gophercloud/gophercloud/openstack/baremetal/v1/drivers"
	"github.com/gophercloud/gophercloud/openstack/baremetal/v1/nodes"
	"github.com/gophercloud/gophercloud/openstack/baremetal/v1/ports"
)

const name = "metal3~host-0"

type given struct {
	Endpoint     string                 `json:"endpoint"`
	User         string                 `json:"user"`
	Password     string                 `json:"password"`
	DriverInfo   map[string]interface{} `json:"driver_info"`
	Mac          string                 `json:"mac"`
	InstanceInfo map[string]interface{} `json:"instance_info"`
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func tell(what string, value interface{}) {
	line, err := json.Marshal([]interface{}{what, value})
	must(err)
	fmt.Println(string(line))
}

func client(input given) *gophercloud.ServiceClient {
	made, err := httpbasic.NewBareMetalHTTPBasic(httpbasic.EndpointOpts{
		IronicEndpoint: input.Endpoint, IronicUser: input.User, IronicUserPassword: input.Password,
	})
	must(err)
	made.Microversion = "1.78"
	return made
}

func discover(ironic *gophercloud.ServiceClient) {
	root, err := apiversions.Get(ironic, "v1").Extract()
	must(err)
	tell("version", root.ID)
	pages, err := drivers.ListDrivers(ironic, drivers.ListDriversOpts{Detail: false}).AllPages()
	must(err)
	found, err := drivers.ExtractDrivers(pages)
	must(err)
	tell("drivers", len(found))
}

func enrol(ironic *gophercloud.ServiceClient, input given) *nodes.Node {
	_, err := nodes.Get(ironic, name).Extract()
	var absent gophercloud.ErrDefault404
	tell("absent", errors.As(err, &absent))
	made, err := nodes.Create(ironic, nodes.CreateOpts{
		Driver: "redfish", Name: name, DriverInfo: input.DriverInfo, NetworkInterface: "noop", ResourceClass: "metal3",
		Properties:    map[string]interface{}{"capabilities": "boot_mode:bios"},
		BootInterface: "ipxe", InspectInterface: "redfish", ManagementInterface: "redfish", PowerInterface: "redfish",
		RAIDInterface: "redfish", VendorInterface: "redfish",
	}).Extract()
	must(err)
	tell("interfaces", []string{made.BootInterface, made.InspectInterface, made.RAIDInterface, made.VendorInterface})
	yes := true
	_, err = ports.Create(ironic, ports.CreateOpts{NodeUUID: made.UUID, Address: input.Mac, PXEEnabled: &yes}).Extract()
	must(err)
	pages, err := ports.List(ironic, ports.ListOpts{Address: input.Mac}).AllPages()
	must(err)
	byMac, err := ports.ExtractPorts(pages)
	must(err)
	tell("enrolled", []interface{}{made.Name, made.ProvisionState, len(byMac)})
	return made
}

func patch(ironic *gophercloud.ServiceClient, uuid string, operations ...nodes.UpdateOperation) *nodes.Node {
	all := nodes.UpdateOpts{}
	for _, operation := range operations {
		all = append(all, operation)
	}
	node, err := nodes.Update(ironic, uuid, all).Extract()
	must(err)
	return node
}

func set(path string, value interface{}) nodes.UpdateOperation {
	return nodes.UpdateOperation{Op: nodes.ReplaceOp, Path: path, Value: value}
}

func provision(ironic *gophercloud.ServiceClient, uuid string, options nodes.ProvisionStateOpts, rests nodes.ProvisionState) {
	must(nodes.ChangeProvisionState(ironic, uuid, options).ExtractErr())
	for tries := 0; tries < 600; tries++ {
		node, err := nodes.Get(ironic, uuid).Extract()
		must(err)
		if node.TargetProvisionState == "" {
			if node.ProvisionState != string(rests) {
				must(fmt.Errorf("node is %s: %s", node.ProvisionState, node.LastError))
			}
			tell("rests", node.ProvisionState)
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
	must(errors.New("the node has not come to rest"))
}

func reboot(ironic *gophercloud.ServiceClient, uuid string) {
	must(nodes.ChangePowerState(ironic, uuid, nodes.PowerStateOpts{Target: nodes.Rebooting}).ExtractErr())
	for tries := 0; tries < 600; tries++ {
		node, err := nodes.Get(ironic, uuid).Extract()
		must(err)
		if node.TargetPowerState == "" {
			tell("rebooted", node.PowerState)
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
	must(errors.New("the node was not rebooted"))
}

func allocate(ironic *gophercloud.ServiceClient, uuid string) {
	made, err := allocations.Create(ironic, allocations.CreateOpts{
		Name: "go-web", ResourceClass: "metal3", CandidateNodes: []string{name}, Extra: map[string]string{"app": "web"},
	}).Extract()
	must(err)
	for tries := 0; made.State == string(allocations.Allocating) && tries < 600; tries++ {
		time.Sleep(200 * time.Millisecond)
		made, err = allocations.Get(ironic, made.UUID).Extract()
		must(err)
	}
	tell("allocation", []interface{}{made.State, made.NodeUUID == uuid})
}

// countNodes goes from page to page by marker: this gophercloud looks for `nodes_links`, which Ironic never had.
func countNodes(ironic *gophercloud.ServiceClient) {
	for index := 0; index < 5; index++ {
		options := nodes.CreateOpts{Driver: "fake-hardware", Name: fmt.Sprintf("go-page-%d", index)}
		must(nodes.Create(ironic, options).Err)
	}
	options := nodes.ListOpts{Limit: 2, Driver: "fake-hardware", Fields: []string{"uuid", "name"}}
	for pages, count := 1, 0; ; pages++ {
		page, err := nodes.List(ironic, options).AllPages()
		must(err)
		found, err := nodes.ExtractNodes(page)
		must(err)
		count += len(found)
		if len(found) < options.Limit {
			tell("pages", []int{pages, count})
			return
		}
		options.Marker = found[len(found)-1].UUID
	}
}

func main() {
	var input given
	must(json.NewDecoder(os.Stdin).Decode(&input))
	stranger := input
	stranger.Password = "wrong"
	_, err := nodes.Get(client(stranger), name).Extract()
	var unauthorized gophercloud.ErrDefault401
	tell("stranger", errors.As(err, &unauthorized))

	ironic := client(input)
	discover(ironic)
	uuid := enrol(ironic, input).UUID
	provision(ironic, uuid, nodes.ProvisionStateOpts{Target: nodes.TargetManage}, nodes.Manageable)
	provision(ironic, uuid, nodes.ProvisionStateOpts{Target: nodes.TargetInspect}, nodes.Manageable)
	node := patch(ironic, uuid, set("/instance_info", input.InstanceInfo), set("/automated_clean", false))
	tell("patched", node.InstanceInfo["image_source"])
	valid, err := nodes.Validate(ironic, uuid).Extract()
	must(err)
	tell("valid", []bool{valid.Boot.Result, valid.Deploy.Result})
	provision(ironic, uuid, nodes.ProvisionStateOpts{Target: nodes.TargetProvide}, nodes.Available)
	allocate(ironic, uuid)
	drive := nodes.ConfigDrive{MetaData: map[string]interface{}{"hostname": "host-0"}}
	provision(ironic, uuid, nodes.ProvisionStateOpts{Target: nodes.TargetActive, ConfigDrive: drive}, nodes.Active)
	reboot(ironic, uuid)
	provision(ironic, uuid, nodes.ProvisionStateOpts{Target: nodes.TargetDeleted}, nodes.Available)
	countNodes(ironic)
	must(nodes.Delete(ironic, uuid).ExtractErr())
	var gone gophercloud.ErrDefault404
	_, err = nodes.Get(ironic, name).Extract()
	tell("gone", errors.As(err, &gone))
}
