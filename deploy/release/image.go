package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"github.com/moby/buildkit/frontend/dockerfile/shell"
	dockerspec "github.com/moby/docker-image-spec/specs-go/v1"
	"github.com/opencontainers/go-digest"
	specs "github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// build returns the archive of an image. It is an OCI layout with a manifest.json, which older
// engines read. args holds the values of the Dockerfile's ARGs.
func build(dockerfile []byte, files fs.FS, arch string, tags []string, args map[string]string) ([]byte, error) {
	config := dockerspec.DockerOCIImage{
		Image: ocispec.Image{Platform: ocispec.Platform{OS: "linux", Architecture: arch}}}
	config.Config.Env = []string{"PATH=/"}
	layer, err := execute(dockerfile, files, args, &config.Config)
	if err != nil {
		return nil, err
	}
	blobs := archive{}
	layerBlob := blobs.add(ocispec.MediaTypeImageLayer, layer)
	config.RootFS = ocispec.RootFS{Type: "layers", DiffIDs: []digest.Digest{layerBlob.Digest}}
	configBlob, err := blobs.addJSON(ocispec.MediaTypeImageConfig, config)
	if err != nil {
		return nil, err
	}
	manifest, err := blobs.addJSON(ocispec.MediaTypeImageManifest, ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest,
		Config: configBlob, Layers: []ocispec.Descriptor{layerBlob},
	})
	if err != nil {
		return nil, err
	}
	manifest.Platform = &config.Platform
	index := ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex}
	for _, tag := range tags {
		named := manifest
		_, version, _ := strings.Cut(tag, ":")
		named.Annotations = map[string]string{"io.containerd.image.name": "docker.io/" + tag,
			ocispec.AnnotationRefName: version}
		index.Manifests = append(index.Manifests, named)
	}
	type manifestEntry struct { // of manifest.json
		Config   string
		RepoTags []string
		Layers   []string
	}
	for name, content := range map[string]any{
		ocispec.ImageIndexFile: index, ocispec.ImageLayoutFile: ocispec.ImageLayout{
			Version: ocispec.ImageLayoutVersion},
		"manifest.json": []manifestEntry{{blobName(configBlob.Digest), tags, []string{blobName(layerBlob.Digest)}}},
	} {
		text, err := json.Marshal(content)
		if err != nil {
			return nil, fmt.Errorf("encoding %s: %w", name, err)
		}
		blobs[name] = text
	}
	return pack(blobs)
}

// execute executes the instructions. It returns the only layer, and completes the configuration c.
func execute(dockerfile []byte, files fs.FS, args map[string]string,
	c *dockerspec.DockerOCIImageConfig) ([]byte, error) {
	parsed, err := parser.Parse(bytes.NewReader(dockerfile))
	if err != nil {
		return nil, fmt.Errorf("parsing the Dockerfile: %w", err)
	}
	stages, arguments, err := instructions.Parse(parsed.AST, nil)
	if err != nil {
		return nil, fmt.Errorf("reading the instructions: %w", err)
	}
	if len(stages) != 1 || len(arguments) != 0 || stages[0].BaseName != "scratch" || stages[0].Platform != "" {
		return nil, errors.New("the Dockerfile must have one stage, FROM scratch, and no ARG before it")
	}
	layer, env, words := archive{}, []string{}, shell.NewLex(parsed.EscapeToken)
	for _, command := range stages[0].Commands {
		line := command.Location()[0].Start.Line
		if arg, ok := command.(*instructions.ArgCommand); ok {
			for _, a := range arg.Args {
				value, given := args[a.Key]
				if !given {
					return nil, fmt.Errorf("line %d: ARG %s has no value: give --arg %s=…", line, a.Key, a.Key)
				}
				env = append(env, a.Key+"="+value)
			}
			continue
		}
		if expanding, ok := command.(instructions.SupportsSingleWordExpansion); ok {
			if err := expanding.Expand(func(word string) (string, error) {
				out, _, err := words.ProcessWord(word, shell.EnvsFromSlice(env))
				return out, err
			}); err != nil {
				return nil, fmt.Errorf("line %d: %w", line, err)
			}
		}
		if err := apply(command, files, layer, c); err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
	}
	return pack(layer)
}

func apply(command instructions.Command, files fs.FS, layer archive, c *dockerspec.DockerOCIImageConfig) error {
	switch v := command.(type) {
	case *instructions.CopyCommand:
		if v.From != "" || v.Chmod != "" || v.Link || v.Chown != "" && v.Chown != "0:0" || len(v.SourcePaths) != 1 ||
			len(v.SourceContents) != 0 || !strings.HasPrefix(v.DestPath, "/") || strings.HasSuffix(v.DestPath, "/") {
			return errors.New("COPY must copy one file to an absolute path, as the owner 0:0")
		}
		text, err := fs.ReadFile(files, v.SourcePaths[0])
		if err != nil {
			return fmt.Errorf("copying: %w", err)
		}
		layer[v.DestPath[1:]] = text
	case *instructions.LabelCommand:
		if c.Labels == nil {
			c.Labels = map[string]string{}
		}
		for _, l := range v.Labels {
			c.Labels[l.Key] = l.Value
		}
	case *instructions.EnvCommand:
		for _, e := range v.Env {
			c.Env = append(c.Env, e.Key+"="+e.Value)
		}
	case *instructions.ExposeCommand:
		if c.ExposedPorts == nil {
			c.ExposedPorts = map[string]struct{}{}
		}
		for _, port := range v.Ports {
			c.ExposedPorts[port+"/tcp"] = struct{}{}
		}
	case *instructions.UserCommand:
		c.User = v.User
	case *instructions.StopSignalCommand:
		c.StopSignal = v.Signal
	case *instructions.HealthCheckCommand:
		c.Healthcheck = v.Health
	case *instructions.EntrypointCommand:
		c.Entrypoint = v.CmdLine
		return checkNoShell(v.PrependShell)
	case *instructions.CmdCommand:
		c.Cmd = v.CmdLine
		return checkNoShell(v.PrependShell)
	default:
		return fmt.Errorf("%s is not supported", strings.ToUpper(command.Name()))
	}
	return nil
}

func checkNoShell(byShell bool) error {
	if byShell {
		return errors.New("the image has no shell: write the command as a list")
	}
	return nil
}
