{{- define "tollgate.labels" -}}
app.kubernetes.io/name: tollgate
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "tollgate.name" -}}
{{ .root.Release.Name }}-{{ .component }}
{{- end }}

{{- define "tollgate.pod" -}}
{{- $own := index .root.Values .component }}
{{- $image := .root.Values.image }}
{{- $extra := .root.Values.extraConfigMap }}
serviceAccountName: {{ include "tollgate.name" . }}
automountServiceAccountToken: false
enableServiceLinks: false
terminationGracePeriodSeconds: 30
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  seccompProfile: {type: RuntimeDefault}
containers:
  - name: {{ .component }}
    image: {{ printf "%s:%s" $image.repository ($image.tag | default .root.Chart.AppVersion) | quote }}
    imagePullPolicy: {{ $image.pullPolicy }}
    args: {{ concat (list .component "--config" "/etc/tollgate/tollgate.yaml" "--listen" (printf "0.0.0.0:%d" .port)) .args $own.args | toJson }}
    env:
      - {name: GOMEMLIMIT, value: {{ div (mul $own.memoryMiB 9) 10 }}MiB}
      {{- with $own.env }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
    {{- with .secrets }}
    envFrom:
      {{- range . }}
      - secretRef: {name: {{ . }}}
      {{- end }}
    {{- end }}
    ports:
      - {name: {{ .portName }}, containerPort: {{ .port }}}
    startupProbe:
      httpGet: {path: /-/healthy, port: {{ .portName }}}
      periodSeconds: 2
      failureThreshold: 30
    livenessProbe:
      httpGet: {path: /-/healthy, port: {{ .portName }}}
      periodSeconds: 10
      timeoutSeconds: 5
      failureThreshold: 3
    readinessProbe:
      httpGet: {path: /-/ready, port: {{ .portName }}}
      periodSeconds: 5
      timeoutSeconds: 5
    securityContext:
      allowPrivilegeEscalation: false
      readOnlyRootFilesystem: true
      capabilities: {drop: [ALL]}
    resources:
      requests: {{ $own.resources.requests | toJson }}
      limits: {memory: {{ $own.memoryMiB }}Mi}
    volumeMounts:
      - {name: config, mountPath: /etc/tollgate, readOnly: true}
      {{- if $extra.name }}
      - {name: extra, mountPath: {{ $extra.mountPath }}, readOnly: true}
      {{- end }}
volumes:
  - name: config
    configMap: {name: {{ .root.Release.Name }}-config}
  {{- if $extra.name }}
  - name: extra
    configMap: {name: {{ $extra.name }}}
  {{- end }}
{{- end }}
